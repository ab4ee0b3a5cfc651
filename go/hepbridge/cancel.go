package hepbridge

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
)

// CancelOption changes a Cancel.
type CancelOption func(*bridgev1.CancelRunRequest)

// RequestID sets the idempotency key, a UUID; without it one is minted a call.
func RequestID(id string) CancelOption {
	return func(request *bridgev1.CancelRunRequest) { request.RequestId = id }
}

// Force sends SIGTERM right after SIGINT; it also cuts short the grace of a cancel that is under way.
func Force() CancelOption {
	return func(request *bridgev1.CancelRunRequest) { request.Force = true }
}

// Graces sets the times from SIGINT to SIGTERM and from SIGTERM to SIGKILL, each up to an hour; 0 = at
// once, less than 0 = as the bridge is configured. Of several requests the shortest holds.
func Graces(interrupt, terminate time.Duration) CancelOption {
	return func(request *bridgev1.CancelRunRequest) {
		request.InterruptGrace, request.TerminateGrace = unlessNegative(interrupt), unlessNegative(terminate)
	}
}

func unlessNegative(value time.Duration) *durationpb.Duration {
	if value < 0 {
		return nil
	}
	return durationpb.New(value)
}

// AwaitEnd lets Cancel return when the run is over, but after limit, up to an hour, at the latest; the
// answer's Run is the run as it is then. The context of Cancel should live longer than limit.
func AwaitEnd(limit time.Duration) CancelOption {
	return func(request *bridgev1.CancelRunRequest) { request.Wait = durationpb.New(limit) }
}

// answerWithin is how long after the end of its wait a cancel may still be answered.
const answerWithin = 10 * time.Second

// Cancel asks for the end of the run; reason is for people. It returns when the request is in the
// log, or the run was over, or with AwaitEnd later; Wait tells how the run then ended. While the bridge
// or the run's owner is unavailable it tries again with the same request id, so that the agent is
// signalled once. Fails with ErrRunNotFound, ErrOwnerUnreachable, ErrInvalidRequest, ErrUnavailable.
func (r *Run) Cancel(ctx context.Context, reason string, options ...CancelOption) (*bridgev1.CancelRunResponse, error) {
	request := &bridgev1.CancelRunRequest{RunId: r.id, RequestId: NewRunID(), Reason: reason}
	for _, option := range options {
		option(request)
	}
	call := r.client.runs.CancelRun
	if request.Wait == nil {
		return retried(ctx, r.client, "cancel run", func(ctx context.Context) (*bridgev1.CancelRunResponse, error) {
			return call(ctx, request)
		})
	}
	until := time.Now().Add(request.Wait.AsDuration())
	return retried(ctx, r.client, "cancel run", func(ctx context.Context) (*bridgev1.CancelRunResponse, error) {
		// Another try waits for what is left only.
		request, left := proto.CloneOf(request), max(time.Until(until), 0)
		request.Wait = unlessZero(left)
		ctx, stop := context.WithTimeout(ctx, left+answerWithin)
		defer stop()
		return call(ctx, request)
	})
}
