package hep

import (
	"errors"
	"io"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
)

// SourceWriter rebuilds a run's source, byte for byte, from the run's events.
type SourceWriter struct {
	w io.Writer
	// owesLineFeed: the last line's line feed is written once it is known to have had one.
	owesLineFeed bool
}

// NewSourceWriter returns a SourceWriter that writes to w.
func NewSourceWriter(w io.Writer) *SourceWriter { return &SourceWriter{w: w} }

// Write takes the run's next event; all of them are to be given, in order, up to RunFinished. It
// fails as Line does, and with ErrNoLine for an OversizeLine, whose bytes are gone.
func (s *SourceWriter) Write(event *eventv1.Event, canonicalForm int32) error {
	if finished, ok := event.GetPayload().(*eventv1.Event_RunFinished); ok {
		cut := finished.RunFinished.GetUnterminatedTail() && len(event.GetBlankBefore()) == 0
		return s.put(!cut, event.GetBlankBefore())
	}
	line, err := Line(event, canonicalForm)
	if _, oversize := event.GetPayload().(*eventv1.Event_OversizeLine); errors.Is(err, ErrNoLine) && !oversize {
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
