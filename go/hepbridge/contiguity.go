package hepbridge

import (
	"fmt"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge/event"
)

// contiguity is what was seen of one run, to find holes and repetitions. The three ways through a
// run (all, without deltas, stderr) are checked apart, since each batch says what came before it on
// each of them.
type contiguity struct {
	// last event delivered, of any kind.
	last int64
	// main is the last that is no StderrChunk, step the last that is no delta either, stderr the last
	// StderrChunk; or the place after which reading began. -1: not known yet.
	main, step, stderr int64
}

func startAfter(sequence int64) contiguity {
	return contiguity{last: sequence, main: sequence, step: sequence, stderr: sequence}
}

func startAnywhere() contiguity { return contiguity{main: -1, step: -1, stderr: -1} }

// admit reports a hole before or inside the batch, and cuts off its events that were delivered
// before. sparse says that the bridge was asked to leave deltas out.
func (c *contiguity) admit(batch *event.Batch, sparse bool) error {
	before, seen := batch.PreviousSequence, &c.main
	switch {
	case batch.Class == eventv1.EventClass_EVENT_CLASS_STDERR:
		seen = &c.stderr
	case sparse:
		before, seen = batch.PreviousStepSequence, &c.step
	}
	if *seen >= 0 && before > *seen {
		return c.hole(batch, *seen, before)
	}
	*seen = max(*seen, before)
	if batch.Part != nil {
		return nil
	}
	for len(batch.Events) > 0 && batch.Events[0].Sequence <= c.last {
		batch.Events = batch.Events[1:]
	}
	for i := range batch.Events {
		now := &batch.Events[i]
		if i > 0 && !sparse && now.Sequence != batch.Events[i-1].Sequence+1 {
			return c.hole(batch, batch.Events[i-1].Sequence, now.Sequence-1)
		}
	}
	return nil
}

// delivered notes that the reader has the event.
func (c *contiguity) delivered(e *event.Event) {
	c.last = e.Sequence
	switch e.Payload.(type) {
	case *eventv1.Event_StderrChunk:
		c.stderr = e.Sequence
	case *eventv1.Event_MessageDelta, *eventv1.Event_ToolDelta:
		c.main = e.Sequence
	default:
		c.main, c.step = e.Sequence, e.Sequence
	}
}

func (c *contiguity) hole(batch *event.Batch, seen, until int64) error {
	return &Error{
		Operation: "read events",
		Reason:    string(ErrGap.(reason)),
		Message:   fmt.Sprintf("run %s: events between %d and %d are missing", batch.RunID, seen, until),
		Metadata: map[string]string{
			"run_id":         batch.RunID,
			"after_sequence": fmt.Sprint(seen),
			"until_sequence": fmt.Sprint(until),
		},
	}
}
