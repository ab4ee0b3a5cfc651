package hepbridge_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge"
	"github.com/hep-bridge/hep-bridge/go/hepbridge/internal/fakebridge"
)

func TestEventsComeInOrderWithTheRunAndTimeOfTheirBatch(t *testing.T) {
	bridge, client := connect(t)
	bridge.Commit(sampleRun("r1")...)
	var got []*hepbridge.Event
	for event, err := range client.Run("r1").Events(within(t, 10*time.Second), hepbridge.IncludeStderr()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, event)
	}
	if len(got) != 10 {
		t.Fatalf("%d events", len(got))
	}
	third := got[2]
	if third.RunID != "r1" || third.Sequence != 3 || third.CanonicalForm != 1 || third.GetMessageDelta().GetDelta() != "b" {
		t.Errorf("third event is %v of run %s", third.Event, third.RunID)
	}
	if want := observed.Add(time.Millisecond); !third.Time.Equal(want) {
		t.Errorf("third event is of %v, not %v", third.Time, want)
	}
	if third.Cursor != "2" || got[1].Cursor != "1" {
		t.Errorf("cursors are %q inside a response and %q at its end", got[1].Cursor, third.Cursor)
	}
}

func TestOptionsSelectWhatIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		options []hepbridge.SubscribeOption
		want    string
	}{
		"all but stderr":   {nil, "[1 2 3 5 6 7 9 10]"},
		"without deltas":   {[]hepbridge.SubscribeOption{hepbridge.SkipDeltas()}, "[1 6 10]"},
		"after a sequence": {[]hepbridge.SubscribeOption{hepbridge.AfterSequence(2)}, "[3 5 6 7 9 10]"},
		"steps after a delta": {
			[]hepbridge.SubscribeOption{hepbridge.AfterSequence(5), hepbridge.SkipDeltas(), hepbridge.IncludeStderr()}, "[6 8 10]",
		},
		"after a cursor": {[]hepbridge.SubscribeOption{hepbridge.Cursor("4")}, "[7 9 10]"},
	} {
		t.Run(name, func(t *testing.T) {
			bridge, client := connect(t)
			bridge.Commit(sampleRun("r1")...)
			got, err := sequences(t, client.Run("r1").Events(within(t, 10*time.Second), c.options...))
			if err != nil || got != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

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

func TestARepeatedEventIsYieldedOnce(t *testing.T) {
	bridge, client := connect(t)
	batches := sampleRun("r1")
	bridge.Commit(batches[0], batches[1], batches[1], batches[2], batches[3], batches[4], batches[6])
	got, err := sequences(t, client.Run("r1").Events(within(t, 10*time.Second)))
	if err != nil || got != "[1 2 3 5 6 7 9 10]" {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestAHoleThatStaysIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		missing int
		options []hepbridge.SubscribeOption
		want    string
	}{
		"of deltas":       {1, nil, "[1]"},
		"of steps":        {3, []hepbridge.SubscribeOption{hepbridge.SkipDeltas()}, "[1]"},
		"of stderr":       {2, []hepbridge.SubscribeOption{hepbridge.IncludeStderr()}, "[1 2 3 5 6 7]"},
		"at the very end": {4, nil, "[1 2 3 5 6]"},
	} {
		t.Run(name, func(t *testing.T) {
			bridge, client := connect(t)
			batches := sampleRun("r1")
			bridge.Commit(append(batches[:c.missing:c.missing], batches[c.missing+1:]...)...)
			got, err := sequences(t, client.Run("r1").Events(within(t, 10*time.Second), c.options...))
			if !errors.Is(err, hepbridge.ErrGap) || got != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
			if calls := len(bridge.Requests("Subscribe")); calls != 2 {
				t.Errorf("%d calls; a hole is read again once", calls)
			}
		})
	}
}

func TestAHoleInsideABatchIsAnError(t *testing.T) {
	bridge, client := connect(t)
	l := &log{id: "r1"}
	bridge.Commit(l.batch(step, started(), text("a"), text("b"), finished(&eventv1.RunFinished{})))
	bridge.Rewrite = func(response *bridgev1.SubscribeResponse) *bridgev1.SubscribeResponse {
		events := response.Batches[0].Events
		response.Batches[0].Events = append(events[:1:1], events[2:]...)
		return response
	}
	_, err := sequences(t, client.Run("r1").Events(within(t, 10*time.Second)))
	if !errors.Is(err, hepbridge.ErrGap) {
		t.Errorf("got %v", err)
	}
}

func TestAHoleOfTheLivePathIsReadAgain(t *testing.T) {
	bridge, client := connect(t)
	bridge.Commit(sampleRun("r1")...)
	dropped := false
	bridge.Rewrite = func(response *bridgev1.SubscribeResponse) *bridgev1.SubscribeResponse {
		if response.Cursor == "2" && !dropped {
			dropped = true
			return nil
		}
		return response
	}
	got, err := sequences(t, client.Run("r1").Events(within(t, 10*time.Second)))
	if err != nil || got != "[1 2 3 5 6 7 9 10]" {
		t.Errorf("got %s, %v", got, err)
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

func TestAllRunsAreReadAndResumedByCursor(t *testing.T) {
	bridge, client := connect(t)
	bridge.CutSubscribeAfter = 3
	bridge.Commit(sampleRun("r1")...)
	bridge.Commit(sampleRun("r2")...)
	counts, cursor := map[string]int{}, ""
	for event, err := range client.Events(within(t, 10*time.Second), hepbridge.Filter{}, hepbridge.FromEarliest()) {
		if err != nil {
			t.Fatal(err)
		}
		counts[event.RunID]++
		cursor = event.Cursor
		if event.RunID == "r2" && event.GetRunFinished() != nil {
			break
		}
	}
	if counts["r1"] != 8 || counts["r2"] != 8 || cursor != "14" {
		t.Errorf("counts %v, cursor %s", counts, cursor)
	}
	bridge.Commit(sampleRun("r3")...)
	for event, err := range client.Events(within(t, 10*time.Second), hepbridge.Filter{}, hepbridge.Cursor(cursor)) {
		if err != nil {
			t.Fatal(err)
		}
		if event.RunID != "r3" || event.Sequence != 1 {
			t.Errorf("first after the cursor is %d of %s", event.Sequence, event.RunID)
		}
		break
	}
}
