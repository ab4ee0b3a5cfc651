package hepbridge_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge"
	"github.com/hep-bridge/hep-bridge/go/hepbridge/internal/fakebridge"
)

func TestRunIDsAreUUIDv7InOrderOfTime(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	last := ""
	for range 1000 {
		id := hepbridge.NewRunID()
		if !form.MatchString(id) || seen[id] {
			t.Fatalf("%s", id)
		}
		if stamp := id[:13]; stamp < last {
			t.Fatalf("%s comes after %s", stamp, last)
		} else {
			last = stamp
		}
		seen[id] = true
	}
}

func TestStartRunIsTriedAgainWithTheSameID(t *testing.T) {
	bridge, client := connect(t)
	bridge.Fail = func(method string, call int) error {
		if method == "StartRun" && call < 3 {
			return fakebridge.Error(codes.Unavailable, "LOG_UNAVAILABLE", "no log")
		}
		return nil
	}
	run, err := client.StartRun(within(t, 10*time.Second), hepbridge.StartOptions{
		Profile: "echo", Prompt: "hi", Labels: map[string]string{"team": "x"}, Deadline: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	requests := bridge.Requests("StartRun")
	if len(requests) != 3 {
		t.Fatalf("%d calls", len(requests))
	}
	for _, request := range requests {
		request := request.(*bridgev1.StartRunRequest)
		if request.RunId != run.ID() || request.Prompt != "hi" || request.Labels["team"] != "x" || request.Deadline.AsDuration() != time.Minute {
			t.Errorf("asked %v", request)
		}
	}
}

func TestStartRunSaysWhatIsWrong(t *testing.T) {
	bridge, client := connect(t)
	ctx := within(t, 10*time.Second)
	if _, err := client.StartRun(ctx, hepbridge.StartOptions{Profile: "nope"}); !errors.Is(err, hepbridge.ErrProfileNotFound) {
		t.Errorf("got %v", err)
	}
	options := hepbridge.StartOptions{Profile: "echo", RunID: hepbridge.NewRunID()}
	for range 2 {
		if _, err := client.StartRun(ctx, options); err != nil {
			t.Fatal(err)
		}
	}
	options.Prompt = "another"
	if _, err := client.StartRun(ctx, options); !errors.Is(err, hepbridge.ErrRunExists) {
		t.Errorf("got %v", err)
	}
	bridge.Fail = func(string, int) error {
		return fakebridge.Error(codes.InvalidArgument, "INVALID_REQUEST", "bad", &errdetails.BadRequest{
			FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "labels", Description: "too many"}},
		})
	}
	_, err := client.StartRun(ctx, options)
	var e *hepbridge.Error
	if !errors.Is(err, hepbridge.ErrInvalidRequest) || !errors.As(err, &e) || e.Fields["labels"] != "too many" {
		t.Errorf("got %v", err)
	}
}

func TestAnAbsentBridgeIsUnavailableAfterTheLimit(t *testing.T) {
	bridge, client := connect(t, hepbridge.WithRetryFor(200*time.Millisecond))
	bridge.Stop()
	if _, err := client.Run("r1").Get(within(t, 20*time.Second)); !errors.Is(err, hepbridge.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestCancelKeepsItsRequestIDWhileTheOwnerIsUnreachable(t *testing.T) {
	bridge, client := connect(t)
	bridge.Fail = func(method string, call int) error {
		if call == 1 {
			return fakebridge.Error(codes.Unavailable, "OWNER_UNREACHABLE", "owner away")
		}
		return nil
	}
	answer, err := client.Run("r1").Cancel(within(t, 10*time.Second), "enough")
	if err != nil || !answer.Run.CancelRequested {
		t.Fatalf("got %v, %v", answer, err)
	}
	requests := bridge.Requests("CancelRun")
	first, second := requests[0].(*bridgev1.CancelRunRequest), requests[1].(*bridgev1.CancelRunRequest)
	if len(requests) != 2 || first.RequestId != second.RequestId || first.Reason != "enough" {
		t.Errorf("asked %v", requests)
	}
}

func TestListFetchesPageByPage(t *testing.T) {
	bridge, client := connect(t)
	for _, id := range []string{"r1", "r2", "r3", "r4", "r5"} {
		bridge.Commit(sampleRun(id)...)
	}
	var ids []string
	for run, err := range client.List(within(t, 10*time.Second), hepbridge.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, run.RunId)
	}
	if got := strings.Join(ids, " "); got != "r5 r4 r3 r2 r1" {
		t.Errorf("got %s", got)
	}
	for range client.List(within(t, 10*time.Second), hepbridge.ListOptions{}) {
		break
	}
	if calls := len(bridge.Requests("ListRuns")); calls != 4 {
		t.Errorf("%d calls; leaving early fetches one page", calls)
	}
}

func TestWaitTellsTheEndAndFetchesALongAnswer(t *testing.T) {
	bridge, client := connect(t)
	batches := sampleRun("r1")
	bridge.Commit(batches[:3]...)
	go func() {
		bridge.Until(func() bool { return bridge.Called("Subscribe") == 1 })
		bridge.Commit(batches[3:]...)
	}()
	result, err := client.Run("r1").Wait(within(t, 10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if !result.Completed() || result.Reason != eventv1.OutcomeReason_OUTCOME_REASON_TURN_DONE || result.Answer != "abc" || result.Finished.Sequence != 10 {
		t.Errorf("got %+v", result)
	}
	if _, err := client.Run("r2").Wait(within(t, 10*time.Second)); !errors.Is(err, hepbridge.ErrRunNotFound) {
		t.Errorf("got %v", err)
	}
}
