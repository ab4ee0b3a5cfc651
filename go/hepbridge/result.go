package hepbridge

import (
	"context"
	"errors"
	"fmt"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	framev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/frame/v1"
)

// Result is how a run ended.
type Result struct {
	RunID string
	// Outcome is the verdict, Reason the finer cause, Detail for people.
	Outcome eventv1.Outcome
	Reason  eventv1.OutcomeReason
	Detail  string
	// CancelCause is why the run was asked to end, e.g. by a client or by a limit of Policies;
	// UNSPECIFIED if it was not.
	CancelCause eventv1.CancelCause
	// Answer is the text of the run's last answer, whole; "" if there is none.
	Answer string
	// Usage is the sum over the rounds, a lower bound; nil if no round reported any.
	Usage *framev1.Usage
	// ExitCode is nil if the process was signalled, never started, or its end was not seen.
	ExitCode *int32
	// Signal that ended the process, e.g. "SIGKILL"; "" if none.
	Signal string
	// Finished is the run's last event, with all that the bridge knows.
	Finished *Event
}

// Completed says that the answer is there.
func (r *Result) Completed() bool { return r.Outcome == eventv1.Outcome_OUTCOME_COMPLETED }

// Wait returns when the run is over, however it ended: a failed or cancelled run is a Result, an
// error means that the end could not be learned. It waits through restarts of the bridge, until the
// context ends.
func (r *Run) Wait(ctx context.Context) (*Result, error) {
	record, err := r.Get(ctx)
	if err != nil {
		return nil, err
	}
	finished, err := r.first(ctx, endsRun, SkipDeltas(), AfterSequence(max(record.LastSequence-1, 0)))
	if errors.Is(err, ErrHistoryGone) {
		finished, err = r.first(ctx, endsRun, SkipDeltas(), FromEarliest())
	}
	if err != nil {
		return nil, err
	}
	end := finished.GetRunFinished()
	result := &Result{
		RunID: r.id, Outcome: end.Outcome, Reason: end.Reason, Detail: end.Detail, CancelCause: end.CancelCause,
		Answer: end.GetAnswer(), Usage: end.Usage, ExitCode: end.ExitCode, Signal: end.Signal,
		Finished: finished,
	}
	if end.Answer != nil || end.AnswerSequence == 0 {
		return result, nil
	}
	// Too long for the last event: it stands in the turn_done.
	answer, err := r.first(ctx, anyEvent, SkipDeltas(), AfterSequence(end.AnswerSequence-1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	result.Answer = answer.GetTurnDone().GetMessage()
	return result, nil
}

func endsRun(e *Event) bool { return e.GetRunFinished() != nil }

func anyEvent(*Event) bool { return true }

// first reads until an event matches.
func (r *Run) first(ctx context.Context, matches func(*Event) bool, options ...SubscribeOption) (*Event, error) {
	for e, err := range r.Events(ctx, options...) {
		if err != nil {
			return nil, err
		}
		if matches(e) {
			return e, nil
		}
	}
	return nil, &Error{Operation: "read events of run " + r.id, Message: "the run ended without the event"}
}
