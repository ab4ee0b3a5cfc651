package hep

import (
	"errors"
	"fmt"
	"io"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
)

// ErrIncomplete says that the events do not hold the run's whole source: see SourceWriter.
var ErrIncomplete = errors.New("hep: source is incomplete")

// SourceWriter rebuilds a run's source, byte for byte, from the run's events. After an error what it
// wrote is the beginning of the source, and it is not for further use. For one goroutine at a time.
type SourceWriter struct {
	w io.Writer
	// owesLineFeed: the last line's line feed is written once it is known to have had one.
	owesLineFeed bool
	finished     bool
}

// NewSourceWriter returns a SourceWriter that writes to w, unbuffered.
func NewSourceWriter(w io.Writer) *SourceWriter { return &SourceWriter{w: w} }

// Write takes the run's next event; all of them are to be given once, in order, up to RunFinished,
// though StderrChunk may be left out. canonicalForm is that of the event's batch. It fails as Line
// does, as the io.Writer does, and with ErrIncomplete at an OversizeLine, whose bytes are gone, at
// HistoryExpired, and at the end of a run that was refused, whose lines are not kept.
func (s *SourceWriter) Write(event *eventv1.Event, canonicalForm int32) error {
	switch payload := event.GetPayload().(type) {
	case *eventv1.Event_OversizeLine:
		return incomplete(event, fmt.Sprintf("a line of %d bytes is over the limit", payload.OversizeLine.GetLineBytes()))
	case *eventv1.Event_HistoryExpired:
		return incomplete(event, fmt.Sprintf("events up to %d were removed", payload.HistoryExpired.GetLastSequence()))
	case *eventv1.Event_RunFinished:
		return s.finish(event, payload.RunFinished)
	}
	line, err := Line(event, canonicalForm)
	if errors.Is(err, ErrNoLine) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.put(true, event.GetBlankBefore(), line); err != nil {
		return err
	}
	s.owesLineFeed = true
	return nil
}

// Close fails with ErrIncomplete if RunFinished was not given. It leaves the io.Writer open.
func (s *SourceWriter) Close() error {
	if !s.finished {
		return fmt.Errorf("%w: the run was not read to its end", ErrIncomplete)
	}
	return nil
}

func (s *SourceWriter) finish(event *eventv1.Event, end *eventv1.RunFinished) error {
	if end.GetOutcome() == eventv1.Outcome_OUTCOME_REFUSED {
		return incomplete(event, "the stream was refused: "+end.GetDetail())
	}
	s.finished = true
	cut := end.GetUnterminatedTail() && len(event.GetBlankBefore()) == 0
	return s.put(!cut, event.GetBlankBefore())
}

func (s *SourceWriter) put(lineFeed bool, pieces ...[]byte) error {
	if s.owesLineFeed && lineFeed {
		pieces = append([][]byte{{'\n'}}, pieces...)
	}
	s.owesLineFeed = false
	for _, piece := range pieces {
		if len(piece) == 0 {
			continue
		}
		if _, err := s.w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

func incomplete(event *eventv1.Event, why string) error {
	return fmt.Errorf("event %d: %w: %s", event.GetSequence(), ErrIncomplete, why)
}
