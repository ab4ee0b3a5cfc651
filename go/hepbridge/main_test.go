package hepbridge_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	framev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/frame/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge"
	"github.com/hep-bridge/hep-bridge/go/hepbridge/internal/fakebridge"
)

const (
	step   = eventv1.EventClass_EVENT_CLASS_STEP
	delta  = eventv1.EventClass_EVENT_CLASS_DELTA
	stderr = eventv1.EventClass_EVENT_CLASS_STDERR
)

// connect gives a bridge and a client of it.
func connect(t testing.TB, options ...hepbridge.DialOption) (*fakebridge.Bridge, *hepbridge.Client) {
	t.Helper()
	bridge := fakebridge.Start(t)
	client, err := hepbridge.Dial(bridge.Addr(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return bridge, client
}

// within is a context that ends the test's waiting.
func within(t testing.TB, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

var observed = time.Date(2026, 11, 3, 10, 0, 0, 0, time.UTC)

// log writes a run's batches with the chain that the bridge writes.
type log struct {
	id                           string
	sequence, main, step, stderr int64
}

func (l *log) batch(class eventv1.EventClass, payloads ...*eventv1.Event) *eventv1.EventBatch {
	batch := &eventv1.EventBatch{
		RunId: l.id, ObserveTime: timestamppb.New(observed), Class: class, CanonicalForm: 1,
		PreviousSequence: l.main, PreviousStepSequence: l.step, Events: payloads,
	}
	if class == stderr {
		batch.PreviousSequence = l.stderr
	}
	for i, event := range payloads {
		l.sequence++
		event.Sequence, event.ObserveOffsetUs = l.sequence, int64(i)*1000
		switch {
		case event.GetStderrChunk() != nil:
			l.stderr = l.sequence
		case event.GetMessageDelta() != nil || event.GetToolDelta() != nil:
			l.main = l.sequence
		default:
			l.main, l.step = l.sequence, l.sequence
		}
	}
	return batch
}

func started() *eventv1.Event {
	return &eventv1.Event{Payload: &eventv1.Event_RunStarted{RunStarted: &eventv1.RunStarted{}}}
}

func text(delta string) *eventv1.Event {
	return &eventv1.Event{Payload: &eventv1.Event_MessageDelta{MessageDelta: &framev1.MessageDelta{TurnId: 1, Delta: delta}}}
}

func done(message string) *eventv1.Event {
	return &eventv1.Event{Payload: &eventv1.Event_TurnDone{TurnDone: &framev1.TurnDone{TurnId: 1, Message: message}}}
}

func chunk(data string) *eventv1.Event {
	return &eventv1.Event{Payload: &eventv1.Event_StderrChunk{StderrChunk: &eventv1.StderrChunk{Data: []byte(data)}}}
}

func finished(end *eventv1.RunFinished) *eventv1.Event {
	return &eventv1.Event{Payload: &eventv1.Event_RunFinished{RunFinished: end}}
}

// sampleRun is a whole run: steps, deltas, stderr; 10 events.
func sampleRun(id string) []*eventv1.EventBatch {
	l := &log{id: id}
	return []*eventv1.EventBatch{
		l.batch(step, started()),
		l.batch(delta, text("a"), text("b")),
		l.batch(stderr, chunk("note")),
		l.batch(step, text("c"), done("abc")),
		l.batch(delta, text("d")),
		l.batch(stderr, chunk("more")),
		l.batch(step, text("e"), finished(&eventv1.RunFinished{
			Outcome: eventv1.Outcome_OUTCOME_COMPLETED, Reason: eventv1.OutcomeReason_OUTCOME_REASON_TURN_DONE, AnswerSequence: 6,
		})),
	}
}

// sequences reads to the end and gives the sequences, as text, and the error.
func sequences(t testing.TB, events func(func(*hepbridge.Event, error) bool)) (string, error) {
	t.Helper()
	var all []int64
	for event, err := range events {
		if err != nil {
			return fmt.Sprint(all), err
		}
		all = append(all, event.Sequence)
	}
	return fmt.Sprint(all), nil
}
