package event

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
)

// Batch is a decoded EventBatch. See there for the fields that share a name.
type Batch struct {
	RunID                string
	ObserveTime          time.Time
	Class                eventv1.EventClass
	PreviousSequence     int64
	PreviousStepSequence int64
	CanonicalForm        int32
	// Part is set if the batch is a piece of one big event; then Events is empty.
	Part *eventv1.EventPart
	// Events in sequence order, in one block of memory.
	Events []Event
}

// Field numbers of EventBatch.
const (
	fieldRunID                = 1
	fieldObserveTime          = 2
	fieldClass                = 3
	fieldPreviousSequence     = 4
	fieldPreviousStepSequence = 5
	fieldCanonicalForm        = 8
	fieldPart                 = 14
	fieldEvents               = 15
)

var errTruncated = errors.New("truncated batch")

// DecodeBatch decodes a NATS body or one batch of a response. It keeps body: the events' text lies
// in it, and nobody may write to it again.
//
// It allocates per batch, not per event: 64 deltas cost four allocations.
func DecodeBatch(body []byte) (*Batch, error) {
	batch := &Batch{}
	events, err := decodeHead(batch, body)
	if err != nil || events == 0 {
		return batch, err
	}
	batch.Events = make([]Event, 0, events)
	slab := slab{events: make([]eventv1.Event, 0, events)}
	for rest := body; len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		size := protowire.ConsumeFieldValue(number, kind, rest[n:])
		if number == fieldEvents {
			data, _ := protowire.ConsumeBytes(rest[n:])
			message, err := slab.decode(data)
			if err != nil {
				return nil, fmt.Errorf("decode event %d of batch: %w", len(batch.Events), err)
			}
			batch.Events = append(batch.Events, batch.event(message))
		}
		rest = rest[n+size:]
	}
	return batch, nil
}

// DecodeAssembled decodes the one event that the parts of a big event make up; head is the batch of
// its last part. It keeps data.
func DecodeAssembled(head *Batch, data []byte) (*Batch, error) {
	message := &eventv1.Event{}
	if err := proto.Unmarshal(data, message); err != nil {
		return nil, fmt.Errorf("decode event made of parts: %w", err)
	}
	batch := *head
	batch.Part = nil
	batch.Events = []Event{head.event(message)}
	return &batch, nil
}

func (b *Batch) event(message *eventv1.Event) Event {
	return Event{
		Event:         message,
		RunID:         b.RunID,
		Time:          b.ObserveTime.Add(time.Duration(message.ObserveOffsetUs) * time.Microsecond),
		CanonicalForm: b.CanonicalForm,
	}
}

// decodeHead fills in all but the events and counts those. It is what validates the framing.
func decodeHead(batch *Batch, body []byte) (events int, err error) {
	for len(body) > 0 {
		number, kind, n := protowire.ConsumeTag(body)
		if n < 0 {
			return 0, errTruncated
		}
		value := body[n:]
		size := protowire.ConsumeFieldValue(number, kind, value)
		if size < 0 {
			return 0, errTruncated
		}
		body = value[size:]
		switch {
		case number == fieldEvents && kind == protowire.BytesType:
			events++
		case kind == protowire.BytesType:
			data, _ := protowire.ConsumeBytes(value)
			if err := batch.setBytes(number, data); err != nil {
				return 0, err
			}
		case number == fieldEvents:
			return 0, errors.New("field events of batch is not a message")
		case kind == protowire.VarintType:
			v, _ := protowire.ConsumeVarint(value)
			batch.setVarint(number, v)
		}
	}
	return events, nil
}

func (b *Batch) setVarint(number protowire.Number, v uint64) {
	switch number {
	case fieldClass:
		b.Class = eventv1.EventClass(v)
	case fieldPreviousSequence:
		b.PreviousSequence = int64(v)
	case fieldPreviousStepSequence:
		b.PreviousStepSequence = int64(v)
	case fieldCanonicalForm:
		b.CanonicalForm = int32(v)
	}
}

func (b *Batch) setBytes(number protowire.Number, data []byte) error {
	switch number {
	case fieldRunID:
		b.RunID = view(data)
	case fieldObserveTime:
		var at timestamppb.Timestamp
		if err := proto.Unmarshal(data, &at); err != nil {
			return fmt.Errorf("decode observe_time of batch: %w", err)
		}
		b.ObserveTime = at.AsTime()
	case fieldPart:
		b.Part = &eventv1.EventPart{}
		if err := proto.Unmarshal(data, b.Part); err != nil {
			return fmt.Errorf("decode part of batch: %w", err)
		}
	}
	return nil
}
