package hep

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
)

// Errors of Line. They are wrapped with the event's sequence: use errors.Is.
var (
	// ErrNoLine says that no line stands behind the event: the bridge made it, or its line was over
	// the limit and is gone (OversizeLine).
	ErrNoLine = errors.New("hep: event has no line")
	// ErrUnknownForm says that the batch's canonical form is newer than this package.
	ErrUnknownForm = errors.New("hep: unknown canonical form")
	// ErrUnknownFields says that the frame, or the whole payload, is newer than this package.
	ErrUnknownFields = errors.New("hep: event has fields unknown here")
	// ErrLineMissing says that the event needs its line and has none.
	ErrLineMissing = errors.New("hep: event lacks its line")
)

// Line returns the exact bytes of the source line that the event stands for, without its line feed.
// canonicalForm is that of the event's batch. It never guesses: where the bytes cannot be known it
// fails with one of the errors above. The result may share the event's memory.
func Line(event *eventv1.Event, canonicalForm int32) ([]byte, error) {
	if len(event.GetLine()) > 0 {
		return event.GetLine(), nil
	}
	line, err := line(event, canonicalForm)
	if err != nil {
		return nil, fmt.Errorf("event %d: %w", event.GetSequence(), err)
	}
	return line, nil
}

func line(event *eventv1.Event, canonicalForm int32) ([]byte, error) {
	switch event.GetPayload().(type) {
	case nil:
		return nil, ErrUnknownFields
	case *eventv1.Event_RunStarted, *eventv1.Event_RunFinished, *eventv1.Event_OversizeLine,
		*eventv1.Event_CancelRequested, *eventv1.Event_CancelSignalled, *eventv1.Event_StderrChunk,
		*eventv1.Event_HistoryExpired:
		return nil, ErrNoLine
	case *eventv1.Event_MalformedLine:
		return []byte{}, nil // an empty line, beyond the blanks that wait for the next event
	case *eventv1.Event_UnknownFrame:
		return nil, ErrLineMissing
	}
	if canonicalForm != CanonicalForm {
		return nil, fmt.Errorf("%w: %d", ErrUnknownForm, canonicalForm)
	}
	if hasUnknownFields(framePayload(event)) {
		return nil, ErrUnknownFields
	}
	return CanonicalText(event)
}

// framePayload returns the message in the event's payload.
func framePayload(event *eventv1.Event) protoreflect.Message {
	message := event.ProtoReflect()
	payload := message.Descriptor().Oneofs().ByName("payload")
	return message.Get(message.WhichOneof(payload)).Message()
}

func hasUnknownFields(message protoreflect.Message) bool {
	if len(message.GetUnknown()) > 0 {
		return true
	}
	found := false
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap() || field.Message() == nil:
		case field.IsList():
			for i := range value.List().Len() {
				found = found || hasUnknownFields(value.List().Get(i).Message())
			}
		default:
			found = found || hasUnknownFields(value.Message())
		}
		return !found
	})
	return found
}
