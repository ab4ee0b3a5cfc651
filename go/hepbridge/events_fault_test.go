package hepbridge_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge"
	"github.com/hep-bridge/hep-bridge/go/hepbridge/internal/fakebridge"
)

func TestACutStreamIsResumedWithoutHoleOrRepetition(t *testing.T) {
	bridge, client := connect(t)
	bridge.CutSubscribeAfter = 1
	bridge.Commit(sampleRun("r1")...)
	got, err := sequences(t, client.Run("r1").Events(within(t, 20*time.Second), hepbridge.IncludeStderr()))
	if err != nil || got != "[1 2 3 4 5 6 7 8 9 10]" {
		t.Errorf("got %s, %v", got, err)
	}
	if calls := len(bridge.Requests("Subscribe")); calls != 7 {
		t.Errorf("%d calls for 7 batches", calls)
	}
}

func TestARestartedBridgeIsWaitedFor(t *testing.T) {
	bridge, client := connect(t)
	batches := sampleRun("r1")
	bridge.Commit(batches[:2]...)
	var got []int64
	for event, err := range client.Run("r1").Events(within(t, 20*time.Second)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, event.Sequence)
		if event.Sequence == 3 {
			bridge.Stop()
			bridge.Listen()
			bridge.Commit(batches[2:]...)
		}
	}
	if len(got) != 8 {
		t.Errorf("got %v", got)
	}
}

func TestReasonsOfTheBridgeAreSentinels(t *testing.T) {
	for reason, c := range map[string]struct {
		code codes.Code
		want error
	}{
		"RUN_NOT_FOUND":    {codes.NotFound, hepbridge.ErrRunNotFound},
		"HISTORY_GONE":     {codes.OutOfRange, hepbridge.ErrHistoryGone},
		"STREAM_RECREATED": {codes.FailedPrecondition, hepbridge.ErrStreamRecreated},
		"LOG_HOLE":         {codes.DataLoss, hepbridge.ErrGap},
		"CURSOR_INVALID":   {codes.InvalidArgument, hepbridge.ErrCursorInvalid},
		"LIMIT_REACHED":    {codes.ResourceExhausted, hepbridge.ErrLimitReached},
	} {
		t.Run(reason, func(t *testing.T) {
			bridge, client := connect(t)
			bridge.Fail = func(string, int) error { return fakebridge.Error(c.code, reason, "the thing and the remedy") }
			got, err := sequences(t, client.Run("r1").Events(within(t, 10*time.Second)))
			if got != "[]" || !errors.Is(err, c.want) {
				t.Fatalf("got %s, %v", got, err)
			}
			var e *hepbridge.Error
			if !errors.As(err, &e) || e.Code != c.code || e.Message != "the thing and the remedy" || e.Metadata["fact"] != "1" {
				t.Errorf("error is %#v", e)
			}
			if errors.Is(err, hepbridge.ErrRunExists) || errors.Is(err, hepbridge.ErrUnavailable) {
				t.Error("matches what it is not")
			}
		})
	}
}

func TestRetryInfoIsWaitedFor(t *testing.T) {
	bridge, client := connect(t)
	bridge.Commit(sampleRun("r1")...)
	const pause = 300 * time.Millisecond
	bridge.Fail = func(_ string, call int) error {
		if call == 1 {
			return fakebridge.Error(codes.Unavailable, "DRAINING", "going away", fakebridge.RetryAfter(durationpb.New(pause)))
		}
		return nil
	}
	began := time.Now()
	if _, err := sequences(t, client.Run("r1").Events(within(t, 10*time.Second))); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < pause {
		t.Errorf("tried again after %v", took)
	}
}

func TestGiveUpAfterEndsTheWaiting(t *testing.T) {
	bridge, client := connect(t)
	bridge.Stop()
	_, err := sequences(t, client.Run("r1").Events(within(t, 20*time.Second), hepbridge.GiveUpAfter(200*time.Millisecond)))
	if !errors.Is(err, hepbridge.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestTheEndOfTheContextIsTheLastError(t *testing.T) {
	bridge, client := connect(t)
	bridge.Commit(sampleRun("r1")[:2]...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := 0
	for event, err := range client.Run("r1").Events(ctx) {
		switch {
		case err != nil:
			errs++
			if !errors.Is(err, context.Canceled) || event != nil {
				t.Errorf("got %v, %v", event, err)
			}
		case event.Sequence == 3:
			cancel()
		}
	}
	if errs != 1 {
		t.Errorf("%d errors", errs)
	}
}

func TestASilentConnectionIsMadeAnew(t *testing.T) {
	bridge, client := connect(t)
	batches := sampleRun("r1")
	bridge.Commit(batches...)
	bridge.Rewrite = func(response *bridgev1.SubscribeResponse) *bridgev1.SubscribeResponse {
		if len(bridge.Requests("Subscribe")) == 1 && response.Cursor != "1" {
			return nil
		}
		return response
	}
	// RunFinished is swallowed too, so the first call would stay for ever.
	bridge.Do(func() { bridge.Run("r1").Batches = batches[:6] })
	go func() {
		bridge.Until(func() bool { return bridge.Called("Subscribe") == 2 })
		bridge.Do(func() { bridge.Run("r1").Batches = batches })
	}()
	got, err := sequences(t, client.Run("r1").Events(within(t, 20*time.Second), hepbridge.HeartbeatEvery(50*time.Millisecond)))
	if err != nil || got != "[1 2 3 5 6 7 9 10]" {
		t.Errorf("got %s, %v", got, err)
	}
}
