package hepworker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge/event"
)

// Event is one event of a run; see package event.
type Event = event.Event

// Message is what the bridge committed at once of one run.
type Message struct {
	// RunID names the run.
	RunID string
	// Events in sequence order, without those that the configuration leaves out; never empty. With
	// RunID their Sequence is the key for idempotent work.
	Events []Event
	// Partition of the run, 0 to 63.
	Partition int
	// StreamSequence is the message's place in the log.
	StreamSequence uint64
	// Delivery is 1 for the first.
	Delivery int
}

// predecessor is the header by which the bridge chains a run's messages: the place in the log of
// the one before.
const predecessor = "Nats-Expected-Last-Subject-Sequence"

// decode reads a message of the log. The Events may be empty.
func (w *worker) decode(ctx context.Context, stored jetstream.Msg, place *jetstream.MsgMetadata) (*Message, error) {
	batch, err := event.DecodeBatch(stored.Data())
	if err != nil {
		return nil, err
	}
	if batch.Part != nil {
		data, err := w.assemble(ctx, batch, stored.Headers().Get(predecessor))
		if err != nil {
			return nil, err
		}
		if batch, err = event.DecodeAssembled(batch, data); err != nil {
			return nil, err
		}
	}
	if !w.IncludeDeltas {
		batch.Events = slices.DeleteFunc(batch.Events, isDelta)
	}
	message := newMessage(stored, place)
	message.Events = batch.Events
	return message, nil
}

// newMessage is a message without its events.
func newMessage(stored jetstream.Msg, place *jetstream.MsgMetadata) *Message {
	runID, partition := addressOf(stored.Subject())
	return &Message{
		RunID: runID, Partition: partition, StreamSequence: place.Sequence.Stream, Delivery: int(place.NumDelivered),
	}
}

func isDelta(e Event) bool {
	switch e.Payload.(type) {
	case *eventv1.Event_MessageDelta, *eventv1.Event_ToolDelta:
		return true
	}
	return false
}

// assemble puts a big event together: last is its last part, before the place of the one before it.
// The others lie on subjects that no consumer reads.
func (w *worker) assemble(ctx context.Context, last *event.Batch, before string) ([]byte, error) {
	parts := []*eventv1.EventPart{last.Part}
	for index := last.Part.Index - 1; index >= 0; index-- {
		place, err := strconv.ParseUint(before, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("header %s of part %d of event %d is %q", predecessor, index+1, last.Part.Sequence, before)
		}
		stored, err := w.stream.GetMsg(ctx, place)
		if err != nil {
			return nil, fmt.Errorf("fetch part %d of event %d at %d: %w", index, last.Part.Sequence, place, err)
		}
		batch, err := event.DecodeBatch(stored.Data)
		if err != nil {
			return nil, err
		}
		if batch.Part == nil {
			return nil, errors.New("a message between the parts of an event")
		}
		parts = append(parts, batch.Part)
		before = stored.Header.Get(predecessor)
	}
	var whole event.Assembler
	for _, part := range slices.Backward(parts) {
		data, err := whole.Add(part)
		if err != nil || data != nil {
			return data, err
		}
	}
	return nil, errors.New("the last part is not the last")
}
