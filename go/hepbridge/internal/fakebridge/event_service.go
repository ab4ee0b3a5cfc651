package fakebridge

import (
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
)

// Commit adds batches to their runs' logs.
func (b *Bridge) Commit(batches ...*eventv1.EventBatch) {
	b.Do(func() {
		for _, batch := range batches {
			run := b.Run(batch.RunId)
			run.Batches = append(run.Batches, batch)
			for _, event := range batch.Events {
				run.Record.LastSequence = event.Sequence
				if event.GetRunFinished() != nil {
					run.Record.State = bridgev1.Run_STATE_FINISHED
				}
			}
		}
	})
}

// Subscribe sends a run's log, a batch a response, and what is added to it; of a filter, the logs of
// all runs, one after the other in the order of their making. The cursor counts batches.
func (b *Bridge) Subscribe(request *bridgev1.SubscribeRequest, stream grpc.ServerStreamingServer[bridgev1.SubscribeResponse]) error {
	if err := b.enter("Subscribe", request); err != nil {
		return err
	}
	at, err := b.place(request)
	if err != nil {
		return err
	}
	for sent := 0; ; {
		b.mu.Lock()
		batches, changed := b.log(request), b.changed
		cut, rewrite := b.CutSubscribeAfter, b.Rewrite
		b.mu.Unlock()
		for ; at < len(batches); at++ {
			if cut > 0 && sent >= cut {
				return Error(codes.Unavailable, "LOG_UNAVAILABLE", "cut by the test")
			}
			batch := trimmed(batches[at], request)
			if batch == nil {
				continue
			}
			over := request.GetRunId() != "" && slices.ContainsFunc(batch.Events, func(e *eventv1.Event) bool { return e.GetRunFinished() != nil })
			response := &bridgev1.SubscribeResponse{Cursor: strconv.Itoa(at + 1), Batches: []*eventv1.EventBatch{batch}}
			if rewrite != nil {
				response = rewrite(response)
			}
			if response != nil {
				if err := stream.Send(response); err != nil {
					return err
				}
				sent++
			}
			if over {
				return nil
			}
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// log is what the request selects; under the lock.
func (b *Bridge) log(request *bridgev1.SubscribeRequest) []*eventv1.EventBatch {
	if id := request.GetRunId(); id != "" {
		return b.Run(id).Batches
	}
	var all []*eventv1.EventBatch
	for _, id := range b.order {
		all = append(all, b.runs[id].Batches...)
	}
	return all
}

// place is the index of the first batch to send.
func (b *Bridge) place(request *bridgev1.SubscribeRequest) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.runs[request.GetRunId()]; !known && request.GetRunId() != "" {
		return 0, Error(codes.NotFound, "RUN_NOT_FOUND", "no run "+request.GetRunId())
	}
	switch start := request.Start.(type) {
	case *bridgev1.SubscribeRequest_Cursor:
		at, err := strconv.Atoi(start.Cursor)
		if err != nil {
			return 0, Error(codes.InvalidArgument, "CURSOR_INVALID", fmt.Sprintf("%q is no cursor", start.Cursor))
		}
		return at, nil
	case *bridgev1.SubscribeRequest_Position:
		if start.Position == bridgev1.StartPosition_START_POSITION_TAIL {
			return len(b.log(request)), nil
		}
	}
	return 0, nil
}

// trimmed is the batch without the events that the request leaves out; nil if none is left.
func trimmed(batch *eventv1.EventBatch, request *bridgev1.SubscribeRequest) *eventv1.EventBatch {
	if batch.Class == eventv1.EventClass_EVENT_CLASS_STDERR && !request.IncludeStderr {
		return nil
	}
	if batch.Part != nil {
		return batch
	}
	batch = proto.CloneOf(batch)
	batch.Events = slices.DeleteFunc(batch.Events, func(e *eventv1.Event) bool {
		isDelta := e.GetMessageDelta() != nil || e.GetToolDelta() != nil
		return e.Sequence <= request.GetAfterSequence() || isDelta && request.SkipDeltas
	})
	if len(batch.Events) == 0 {
		return nil
	}
	return batch
}
