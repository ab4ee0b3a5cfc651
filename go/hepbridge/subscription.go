package hepbridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge/event"
)

// subscription reads a run or a filter over as many calls as it takes. One goroutine.
type subscription struct {
	client      *Client
	operation   string
	request     *bridgev1.SubscribeRequest
	giveUpAfter time.Duration
	heartbeat   time.Duration
	yield       func(*Event, error) bool

	// start is what is known of a run before its first batch.
	start contiguity
	// cursor of the last response whose events were all delivered.
	cursor string
	// delivered says that an event was.
	delivered bool
	// runs that were seen and are not finished.
	runs map[string]*runProgress
	// holeAfter is the event after which the last hole was found; -1 none.
	holeAfter int64
}

type runProgress struct {
	contiguity
	parts event.Assembler
}

// errStop ends the reading without an error: the reader left, or the run is finished.
var errStop = errors.New("stop")

func newSubscription(client *Client, operation string, options []SubscribeOption) *subscription {
	s := &subscription{
		client:      client,
		operation:   operation,
		request:     &bridgev1.SubscribeRequest{},
		giveUpAfter: -1,
		heartbeat:   15 * time.Second,
		runs:        map[string]*runProgress{},
		holeAfter:   -1,
	}
	for _, option := range options {
		option(s)
	}
	s.request.HeartbeatInterval = durationpb.New(s.heartbeat)
	return s
}

// read yields events until the run is finished, the reader leaves or an error is final.
func (s *subscription) read(ctx context.Context, yield func(*Event, error) bool) {
	s.yield, s.start = yield, s.begin()
	retries := newRetries(s.giveUpAfter)
	for {
		err := s.readOnce(ctx, retries)
		if errors.Is(err, errStop) {
			return
		}
		err = newError(ctx, s.operation, err)
		if !s.retryHole(err) {
			if err := retries.wait(ctx, s.operation, err); err != nil {
				yield(nil, err)
				return
			}
		}
		s.resume()
	}
}

// readOnce makes one call and hands out what it brings. It never returns nil.
func (s *subscription) readOnce(ctx context.Context, retries *retries) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stream, err := s.client.conn.NewStream(ctx, &bridgev1.EventService_ServiceDesc.Streams[0],
		bridgev1.EventService_Subscribe_FullMethodName, grpc.ForceCodecV2(responseCodec{}), grpc.StaticMethod())
	if err != nil {
		return err
	}
	if err := stream.SendMsg(s.request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	// A gateway that cannot be reached any more sends no end either.
	silence := 3 * s.heartbeat
	dead := &Error{Operation: s.operation, Code: codes.Unavailable, Message: fmt.Sprintf("no sign of life for %s", silence)}
	watchdog := time.AfterFunc(silence+s.request.WaitForRun.AsDuration(), func() { cancel(dead) })
	defer watchdog.Stop()
	began := time.Now()
	var answer response
	for {
		err := stream.RecvMsg(&answer)
		watchdog.Stop()
		if context.Cause(ctx) == dead {
			return dead
		}
		if errors.Is(err, io.EOF) {
			return &Error{Operation: s.operation, Code: codes.Unavailable, Message: "stream was cut before the run's end"}
		}
		if err != nil {
			return err
		}
		if len(answer.batches) > 0 || time.Since(began) > s.heartbeat {
			retries.progress()
		}
		if err := s.deliver(&answer); err != nil {
			return err
		}
		if answer.draining {
			return &Error{
				Operation: s.operation, Reason: string(ErrDraining.(reason)), Code: codes.Unavailable,
				Message: "the gateway goes away", RetryAfter: answer.retryDelay,
			}
		}
		watchdog.Reset(silence)
	}
}

// deliver hands out the events of one response.
func (s *subscription) deliver(answer *response) error {
	for i, body := range answer.batches {
		batch, err := event.DecodeBatch(body)
		if err != nil {
			return &Error{Operation: s.operation, Code: codes.DataLoss, Message: err.Error(), cause: err}
		}
		cursor := s.cursor
		if i == len(answer.batches)-1 && answer.cursor != "" {
			cursor = answer.cursor
		}
		if err := s.deliverBatch(batch, cursor); err != nil {
			return err
		}
	}
	if answer.cursor != "" {
		s.cursor = answer.cursor
	}
	return nil
}

// deliverBatch hands out the events of a batch; the last one carries cursor, those before it the
// place before the response.
func (s *subscription) deliverBatch(batch *event.Batch, cursor string) error {
	run, known := s.runs[batch.RunID]
	if !known {
		run = &runProgress{contiguity: s.start}
		// The batch's own id would keep its bytes alive.
		s.runs[strings.Clone(batch.RunID)] = run
	}
	sparse := s.request.SkipDeltas || s.request.SkipClosedDeltas
	if err := run.admit(batch, sparse); err != nil {
		return err
	}
	if batch.Part != nil {
		whole, err := run.parts.Add(batch.Part)
		if err != nil {
			return &Error{Operation: s.operation, Code: codes.DataLoss, Message: err.Error(), cause: err}
		}
		if whole == nil {
			return nil
		}
		if batch, err = event.DecodeAssembled(batch, whole); err != nil {
			return &Error{Operation: s.operation, Code: codes.DataLoss, Message: err.Error(), cause: err}
		}
		if err := run.admit(batch, sparse); err != nil {
			return err
		}
	}
	for i := range batch.Events {
		e := &batch.Events[i]
		e.Cursor = s.cursor
		if i == len(batch.Events)-1 {
			e.Cursor = cursor
		}
		run.delivered(e)
		s.delivered = true
		if !s.yield(e, nil) {
			return errStop
		}
		if _, over := e.Payload.(*eventv1.Event_RunFinished); over {
			delete(s.runs, batch.RunID)
			if s.ofOneRun() {
				return errStop
			}
		}
	}
	return nil
}

func (s *subscription) ofOneRun() bool { return s.request.GetRunId() != "" }
