package hepbridge

import (
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
)

// upload carries the stream over as many calls as it takes, and ends the PipedRun.
func (p *PipedRun) upload(call *ingestCall) {
	finished, err := p.carryAll(call)
	p.mu.Lock()
	p.finished, p.err = finished, err
	p.mu.Unlock()
	// The bridge will take no more. An agent that is still there is stopped and not waited for.
	p.stdout.abandon()
	p.stderr.abandon()
	if p.agent != nil {
		p.signal(NewRunID(), graces{p.options.InterruptGrace, p.options.TerminateGrace})
		<-p.agent.exited
	}
	p.stdout.spill.close()
	p.stderr.spill.close()
	close(p.done)
}

func (p *PipedRun) carryAll(call *ingestCall) (*bridgev1.Run, error) {
	operation := "stream run " + p.id
	retries := newRetries(-1)
	for {
		finished, err := p.carry(call)
		call.leave()
		if finished != nil {
			return finished, nil
		}
		lost := time.Now()
		if call.useful {
			retries.progress()
		}
		for {
			err = newError(p.lifetime, operation, err)
			if err := p.retry(retries, operation, err, lost); err != nil {
				return nil, err
			}
			if call, err = p.open(p.lifetime); err == nil {
				break
			}
		}
		if !p.stdout.held(call.stdoutSent) || !p.stderr.held(call.stderrSent) {
			call.leave()
			return nil, &Error{
				Operation: operation, Reason: string(ErrIngestGap.(reason)),
				Message: fmt.Sprintf("the bridge wants stdout from %d and stderr from %d, bytes that it had acknowledged",
					call.stdoutSent, call.stderrSent),
			}
		}
	}
}

// retry waits before the next open; it returns the error to give up with.
func (p *PipedRun) retry(retries *retries, operation string, err error, lost time.Time) error {
	if p.isOver() && time.Since(lost) > p.options.FinishWithin {
		return err
	}
	if errors.Is(err, ErrIngestGap) {
		// Opening again says where to go on; if that does not help it is for good.
		var e *Error
		errors.As(err, &e)
		err = &Error{Operation: e.Operation, Message: e.Error(), Code: codes.Aborted, cause: err}
	}
	return retries.wait(p.lifetime, operation, err)
}

// isOver: the caller has left and the agent is gone.
func (p *PipedRun) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.contextOver:
		return p.exit != nil
	default:
		return false
	}
}

// carry sends and receives on one call until it ends. Run is set if the run is finished.
func (p *PipedRun) carry(call *ingestCall) (*bridgev1.Run, error) {
	type end struct {
		finished *bridgev1.Run
		err      error
	}
	received := make(chan end, 1)
	go func() {
		finished, err := p.receive(call)
		// Ends a Send that waits for the bridge to read.
		call.leave()
		received <- end{finished, err}
	}()
	for {
		sent, err := p.sendNext(call)
		if err != nil && !errors.Is(err, io.EOF) {
			call.leave()
			<-received
			return nil, err
		}
		if sent && err == nil {
			continue
		}
		wakes := p.wakes
		if err != nil {
			// The call is over; receive has the reason.
			wakes = nil
		}
		select {
		case end := <-received:
			return end.finished, end.err
		case <-wakes:
		}
	}
}

// receive handles the bridge's messages until the call ends.
func (p *PipedRun) receive(call *ingestCall) (*bridgev1.Run, error) {
	for {
		answer, err := call.stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, &Error{Operation: "stream run " + p.id, Code: codes.Unavailable, Message: "call was cut before the run's end"}
		}
		if err != nil {
			return nil, err
		}
		switch message := answer.Message.(type) {
		case *bridgev1.IngestResponse_Ack:
			call.useful = true
			p.stdout.acknowledge(message.Ack.StdoutOffset)
			p.stderr.acknowledge(message.Ack.StderrOffset)
		case *bridgev1.IngestResponse_Cancel:
			p.signal(message.Cancel.RequestId, graces{
				orElse(message.Cancel.InterruptGrace, p.options.InterruptGrace),
				orElse(message.Cancel.TerminateGrace, p.options.TerminateGrace),
			})
		case *bridgev1.IngestResponse_Finished:
			return message.Finished.Run, nil
		case *bridgev1.IngestResponse_Draining:
			return nil, &Error{
				Operation: "stream run " + p.id, Reason: string(ErrDraining.(reason)), Code: codes.Unavailable,
				Message: "the gateway goes away", RetryAfter: message.Draining.RetryDelay.AsDuration(),
			}
		}
	}
}

func orElse(duration *durationpb.Duration, otherwise time.Duration) time.Duration {
	if duration == nil {
		return otherwise
	}
	return duration.AsDuration()
}
