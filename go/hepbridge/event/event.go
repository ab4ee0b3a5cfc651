// Package event is the form in which the Go SDKs hand out what the log holds. It needs neither
// gRPC nor NATS, so that code written for the events of hepbridge serves those of hepworker too.
package event

import (
	"time"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	"github.com/hep-bridge/hep-bridge/go/hep"
)

// Event is one event with what its batch says about it filled in. Its payload is read with the
// getters of the embedded message (GetMessageDelta, GetTurnDone, …) or a type switch over Payload;
// Payload is nil for a kind that is newer than this package.
//
// The events of one batch share memory, text included: keeping one keeps its batch (at most about
// 1 MiB). Copy out the strings to keep little for long. Events may be read from several goroutines.
type Event struct {
	*eventv1.Event
	// RunID names the run.
	RunID string
	// Time is when the last byte of the event's line was read.
	Time time.Time
	// CanonicalForm is the form that an unset line stands for.
	CanonicalForm int32
	// Cursor is where reading on delivers all that comes after this event. Up to one response may be
	// delivered again. Empty for events of hepworker, and before the gateway gave one.
	Cursor string
}

// Line returns the exact bytes of the source line, without its line feed. It fails for events that
// the bridge made, and where only a guess could answer: an unknown canonical form, or fields that
// this version does not know. The bytes must not be changed.
func (e *Event) Line() ([]byte, error) {
	return hep.Line(e.Event, e.CanonicalForm)
}
