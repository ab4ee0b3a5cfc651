package hepbridge_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge"
	"github.com/hep-bridge/hep-bridge/go/hepbridge/internal/fakebridge"
)

func TestCancelAsksAsItsOptionsSay(t *testing.T) {
	bridge, client := connect(t)
	seconds := func(n int64) *durationpb.Duration { return &durationpb.Duration{Seconds: n} }
	for _, test := range []struct {
		options []hepbridge.CancelOption
		want    *bridgev1.CancelRunRequest
	}{
		{nil, &bridgev1.CancelRunRequest{}},
		{[]hepbridge.CancelOption{hepbridge.Force()}, &bridgev1.CancelRunRequest{Force: true}},
		{[]hepbridge.CancelOption{hepbridge.Graces(0, 3*time.Second)}, &bridgev1.CancelRunRequest{InterruptGrace: seconds(0), TerminateGrace: seconds(3)}},
		{[]hepbridge.CancelOption{hepbridge.Graces(2*time.Second, -1)}, &bridgev1.CancelRunRequest{InterruptGrace: seconds(2)}},
	} {
		options := append(test.options, hepbridge.RequestID("q1"))
		if _, err := client.Run("r1").Cancel(within(t, 10*time.Second), "enough", options...); err != nil {
			t.Fatal(err)
		}
		requests := bridge.Requests("CancelRun")
		test.want.RunId, test.want.RequestId, test.want.Reason = "r1", "q1", "enough"
		if got := requests[len(requests)-1].(*bridgev1.CancelRunRequest); !proto.Equal(got, test.want) {
			t.Errorf("asked %v, not %v", got, test.want)
		}
	}
}

func TestACancelThatAwaitsTheEndGivesTheRunAsItIsAtItsLimit(t *testing.T) {
	_, client := connect(t)
	ctx := within(t, 10*time.Second)
	answer, err := client.Run("r1").Cancel(ctx, "enough", hepbridge.AwaitEnd(50*time.Millisecond))
	if err != nil || answer.Run.State != bridgev1.Run_STATE_RUNNING || answer.RequestedSequence != 1 {
		t.Errorf("got %v, %v", answer, err)
	}
}

func TestACancelThatAwaitsTheEndSeesIt(t *testing.T) {
	bridge, client := connect(t)
	go func() {
		bridge.Until(func() bool { return bridge.Called("CancelRun") == 1 })
		bridge.Do(func() { bridge.Run("r1").Record.State = bridgev1.Run_STATE_FINISHED })
	}()
	answer, err := client.Run("r1").Cancel(within(t, 10*time.Second), "enough", hepbridge.AwaitEnd(time.Minute))
	if err != nil || answer.Run.State != bridgev1.Run_STATE_FINISHED {
		t.Errorf("got %v, %v", answer, err)
	}
}

func TestACancelThatIsTriedAgainAwaitsWhatIsLeftOfItsLimit(t *testing.T) {
	bridge, client := connect(t)
	bridge.Fail = func(_ string, call int) error {
		if call < 3 {
			return fakebridge.Error(codes.Unavailable, "OWNER_UNREACHABLE", "owner away")
		}
		return nil
	}
	if _, err := client.Run("r1").Cancel(within(t, 10*time.Second), "enough", hepbridge.AwaitEnd(60*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	var waits []time.Duration
	for _, request := range bridge.Requests("CancelRun") {
		waits = append(waits, request.(*bridgev1.CancelRunRequest).Wait.AsDuration())
	}
	// The pauses before the tries are at least 40 and 80 ms.
	if len(waits) != 3 || waits[0] > 60*time.Millisecond || waits[0] == 0 || waits[1] > 20*time.Millisecond || waits[2] != 0 {
		t.Errorf("waited %v", waits)
	}
}

func TestACancelsContextMayEndBeforeItsWait(t *testing.T) {
	_, client := connect(t)
	_, err := client.Run("r1").Cancel(within(t, 50*time.Millisecond), "enough", hepbridge.AwaitEnd(time.Minute))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
