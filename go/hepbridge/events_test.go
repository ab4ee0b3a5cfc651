package hepbridge_test

import (
	"errors"
	"testing"
	"time"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge"
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
