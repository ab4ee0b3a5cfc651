package hepbridge

import (
	"errors"

	"google.golang.org/protobuf/proto"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge/event"
)

// begin looks at where reading starts, for the contiguity of what comes first.
func (s *subscription) begin() contiguity {
	if s.ofOneRun() {
		switch start := s.request.Start.(type) {
		case nil:
			return startAfter(0)
		case *bridgev1.SubscribeRequest_AfterSequence:
			return startAfter(start.AfterSequence)
		case *bridgev1.SubscribeRequest_Position:
			if start.Position == bridgev1.StartPosition_START_POSITION_BEGINNING {
				return startAfter(0)
			}
		}
	}
	return startAnywhere()
}

// resume makes the next call go on where this one ended. The sequence says it best: it holds in a
// log that was made anew, too, and never repeats. Before the first event, and over many runs, the
// cursor does.
func (s *subscription) resume() {
	s.request = proto.CloneOf(s.request)
	run := s.runs[s.request.GetRunId()]
	if run != nil {
		run.parts = event.Assembler{}
	}
	switch {
	case s.ofOneRun() && s.delivered:
		s.request.Start = &bridgev1.SubscribeRequest_AfterSequence{AfterSequence: run.last}
	case s.cursor != "":
		s.request.Start = &bridgev1.SubscribeRequest_Cursor{Cursor: s.cursor}
	}
}

// retryHole says whether a hole is to be read again at once: it may be the live path's, and not the
// log's. The same hole twice is final.
func (s *subscription) retryHole(err error) bool {
	run := s.runs[s.request.GetRunId()]
	if run == nil || !errors.Is(err, ErrGap) || run.last == s.holeAfter {
		return false
	}
	s.holeAfter = run.last
	return true
}
