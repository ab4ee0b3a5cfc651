package hepbridge

import (
	"context"
	"iter"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge/event"
)

// Event is one event of a run; see package event.
type Event = event.Event

// Events yields the run's events in sequence order, each once, from the beginning unless an option
// says otherwise, as soon as they are committed. It ends after RunFinished. A cut connection, a
// restarting or draining bridge is overcome inside: it waits, resumes after the last event that was
// yielded, and checks that none is missing.
//
// An error is the last thing that it yields, with a nil event: the context's, ErrRunNotFound,
// ErrHistoryGone, ErrStreamRecreated, ErrGap, ErrCursorInvalid and their like. Leaving the loop ends
// the call. A slow reader slows only itself. Each range over it is a new reading.
func (r *Run) Events(ctx context.Context, options ...SubscribeOption) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		s := newSubscription(r.client, "read events of run "+r.id, options)
		s.request.Target = &bridgev1.SubscribeRequest_RunId{RunId: r.id}
		s.read(ctx, yield)
	}
}

// Filter selects runs; all that is set must match. The zero Filter selects all runs.
type Filter struct {
	// Labels with their exact values.
	Labels map[string]string
	// PartitionKey, e.g. a conversation id.
	PartitionKey string
}

// Events yields the events of all runs that the filter selects, now and later, from now on unless an
// option says otherwise. The order within a run is that of its sequence. It ends only with an error
// or when the loop is left. To go on later, keep Event.Cursor and pass it as Cursor. Otherwise as
// Run.Events.
func (c *Client) Events(ctx context.Context, filter Filter, options ...SubscribeOption) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		s := newSubscription(c, "read events", options)
		s.request.Target = &bridgev1.SubscribeRequest_Filter{
			Filter: &bridgev1.RunFilter{Labels: filter.Labels, PartitionKey: filter.PartitionKey},
		}
		s.read(ctx, yield)
	}
}
