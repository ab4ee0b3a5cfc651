package hepbridge

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
)

// SubscribeOption changes what Events reads.
type SubscribeOption func(*subscription)

// AfterSequence starts with the event after this one; 0 = the beginning. Of one run only.
func AfterSequence(sequence int64) SubscribeOption {
	return func(s *subscription) {
		s.request.Start = &bridgev1.SubscribeRequest_AfterSequence{AfterSequence: sequence}
	}
}

// Cursor starts after the event that had this cursor. The other options must be the same as then.
func Cursor(cursor string) SubscribeOption {
	return func(s *subscription) { s.request.Start = &bridgev1.SubscribeRequest_Cursor{Cursor: cursor} }
}

// FromBeginning starts with the first event of a run, and fails with ErrHistoryGone if it is no
// longer kept. The default of Run.Events.
func FromBeginning() SubscribeOption { return from(bridgev1.StartPosition_START_POSITION_BEGINNING) }

// FromEarliest starts with the oldest event kept.
func FromEarliest() SubscribeOption { return from(bridgev1.StartPosition_START_POSITION_EARLIEST) }

// FromTail reads only what is committed from now on. The default of Client.Events.
func FromTail() SubscribeOption { return from(bridgev1.StartPosition_START_POSITION_TAIL) }

func from(position bridgev1.StartPosition) SubscribeOption {
	return func(s *subscription) { s.request.Start = &bridgev1.SubscribeRequest_Position{Position: position} }
}

// SkipDeltas leaves out message_delta and tool_delta.
func SkipDeltas() SubscribeOption {
	return func(s *subscription) { s.request.SkipDeltas = true }
}

// SkipClosedDeltas leaves out, while history is read, the deltas of rounds that are closed: what a
// late joiner wants. Of one run only.
func SkipClosedDeltas() SubscribeOption {
	return func(s *subscription) { s.request.SkipClosedDeltas = true }
}

// IncludeStderr delivers StderrChunk events too.
func IncludeStderr() SubscribeOption {
	return func(s *subscription) { s.request.IncludeStderr = true }
}

// WaitForRun waits so long for a run that does not exist yet, instead of failing with
// ErrRunNotFound. Of one run only.
func WaitForRun(limit time.Duration) SubscribeOption {
	return func(s *subscription) { s.request.WaitForRun = durationpb.New(limit) }
}

// GiveUpAfter bounds how long an unavailable bridge is tried again without a response between;
// the default is as long as the context lives.
func GiveUpAfter(limit time.Duration) SubscribeOption {
	return func(s *subscription) { s.giveUpAfter = limit }
}

// HeartbeatEvery asks the bridge for a sign of life after so long a silence; default 15 s. After
// three of them without any the connection counts as dead and is made anew.
func HeartbeatEvery(interval time.Duration) SubscribeOption {
	return func(s *subscription) { s.heartbeat = interval }
}
