package hepworker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// CancelRequest says which run Cancel ends, and how.
type CancelRequest struct {
	// RunID names the run; required.
	RunID string
	// RequestID is the idempotency key, a UUID; required. A handler that may be called again for a
	// message uses the same one again: the agent is signalled once.
	RequestID string
	// Reason is for people, at most 1024 bytes.
	Reason string
	// Tenant of the run; empty = "default".
	Tenant string
	// Force sends SIGTERM right after SIGINT; it also cuts short the grace of a cancel under way.
	Force bool
	// InterruptGrace is the time from SIGINT to SIGTERM, TerminateGrace from SIGTERM to SIGKILL, each up
	// to an hour; 0 = as the bridge is configured. Of several requests the shortest holds.
	InterruptGrace, TerminateGrace time.Duration
	// Wait lets Cancel return when the run is over, but after so long, up to an hour, at the latest; 0 =
	// when the request is in the log.
	Wait time.Duration
}

// CancelAnswer is the run after the request.
type CancelAnswer struct {
	// State of the run, e.g. "STATE_RUNNING", "STATE_FINISHED".
	State string
	// Outcome of a run that is over, e.g. "OUTCOME_CANCELLED"; else "".
	Outcome string
	// RequestedSequence of CancelRequested in the run; 0 if the run was over before.
	RequestedSequence int64
}

// answerWithin is how long after the end of its Wait a cancel may still be answered.
const answerWithin = 10 * time.Second

// Cancel asks the bridge over NATS for the end of a run, once: after ErrOwnerUnreachable, ErrDraining,
// ErrLogUnavailable, ErrNoGateway and when no answer came, the same RequestID may be sent again. It
// waits for the answer until ctx ends, and no longer than Wait and 10 s. Fails with a *CancelError if
// the bridge refuses. conn may publish on hep.ctl.v1.cancel.<tenant>.
func Cancel(ctx context.Context, conn *nats.Conn, request CancelRequest) (CancelAnswer, error) {
	setDefault(&request.Tenant, "default")
	answer, err := request.ask(ctx, conn)
	if err != nil {
		return CancelAnswer{}, fmt.Errorf("hepworker: cancel run %s: %w", request.RunID, err)
	}
	return answer, nil
}

func (r CancelRequest) ask(ctx context.Context, conn *nats.Conn) (CancelAnswer, error) {
	ctx, stop := context.WithTimeout(ctx, r.Wait+answerWithin)
	defer stop()
	question, err := r.message()
	if err != nil {
		return CancelAnswer{}, err
	}
	answer, err := conn.RequestMsgWithContext(ctx, question)
	if errors.Is(err, nats.ErrNoResponders) {
		return CancelAnswer{}, fmt.Errorf("%w on %s answers %s", ErrNoGateway, conn.ConnectedUrlRedacted(), question.Subject)
	}
	if err != nil {
		return CancelAnswer{}, err
	}
	if err := refusal(answer.Header); err != nil {
		return CancelAnswer{}, err
	}
	return readAnswer(answer.Data)
}

// message is the request as NATS carries it: CancelRunRequest as Protobuf JSON.
func (r CancelRequest) message() (*nats.Msg, error) {
	body, err := json.Marshal(struct {
		RunID          string `json:"runId"`
		RequestID      string `json:"requestId"`
		Reason         string `json:"reason,omitempty"`
		Force          bool   `json:"force,omitempty"`
		InterruptGrace string `json:"interruptGrace,omitempty"`
		TerminateGrace string `json:"terminateGrace,omitempty"`
		Wait           string `json:"wait,omitempty"`
	}{r.RunID, r.RequestID, r.Reason, r.Force, seconds(r.InterruptGrace), seconds(r.TerminateGrace), seconds(r.Wait)})
	if err != nil {
		return nil, err
	}
	message := nats.NewMsg("hep.ctl.v1.cancel." + token(r.Tenant))
	message.Header.Set("Content-Type", "application/json")
	message.Data = body
	return message, nil
}

// seconds is the Protobuf JSON of a duration; "" for 0.
func seconds(value time.Duration) string {
	if value == 0 {
		return ""
	}
	sign := ""
	if value < 0 {
		sign, value = "-", -value
	}
	return fmt.Sprintf("%s%d.%09ds", sign, value/time.Second, value%time.Second)
}

// readAnswer reads the Protobuf JSON of a CancelRunResponse, where a 64-bit number is text.
func readAnswer(data []byte) (CancelAnswer, error) {
	var answer struct {
		Run struct {
			State   string `json:"state"`
			Outcome string `json:"outcome"`
		} `json:"run"`
		RequestedSequence int64 `json:"requestedSequence,string"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return CancelAnswer{}, fmt.Errorf("the bridge's answer: %w", err)
	}
	return CancelAnswer{State: answer.Run.State, Outcome: answer.Run.Outcome, RequestedSequence: answer.RequestedSequence}, nil
}
