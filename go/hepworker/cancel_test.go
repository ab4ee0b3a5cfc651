package hepworker_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	"github.com/hep-bridge/hep-bridge/go/hepworker"
)

// gateway answers cancels as a bridge does; the answer's body is the response's Protobuf JSON.
func (s *server) gateway(subject string, answer func(request *nats.Msg) *nats.Msg) {
	s.t.Helper()
	_, err := s.conn.Subscribe(subject, func(request *nats.Msg) {
		if reply := answer(request); reply != nil {
			if err := request.RespondMsg(reply); err != nil {
				s.t.Error(err)
			}
		}
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.conn.Flush(); err != nil {
		s.t.Fatal(err)
	}
}

func response(t *testing.T, answer *bridgev1.CancelRunResponse) *nats.Msg {
	body, err := protojson.Marshal(answer)
	if err != nil {
		t.Error(err)
	}
	return &nats.Msg{Data: body}
}

func refusal(code, reason, text string) *nats.Msg {
	return &nats.Msg{Header: nats.Header{
		"Nats-Service-Error-Code": {code}, "Nats-Service-Error": {text}, "Hep-Error-Reason": {reason},
	}}
}

func TestCancelAsksInProtobufJSONAndReadsTheAnswer(t *testing.T) {
	s := startServer(t)
	asked := make(chan *nats.Msg, 1)
	s.gateway("hep.ctl.v1.cancel.*", func(request *nats.Msg) *nats.Msg {
		asked <- request
		return response(t, &bridgev1.CancelRunResponse{RequestedSequence: 1 << 53, Run: &bridgev1.Run{
			RunId: "r1", State: bridgev1.Run_STATE_FINISHED, Outcome: eventv1.Outcome_OUTCOME_CANCELLED,
		}})
	})
	answer, err := hepworker.Cancel(t.Context(), s.conn, hepworker.CancelRequest{
		RunID: "r1", RequestID: "q1", Reason: "over \"budget\"", Tenant: "a.b", Force: true,
		InterruptGrace: 1500 * time.Millisecond, TerminateGrace: time.Nanosecond, Wait: 10 * time.Second,
	})
	if want := (hepworker.CancelAnswer{State: "STATE_FINISHED", Outcome: "OUTCOME_CANCELLED", RequestedSequence: 1 << 53}); err != nil || answer != want {
		t.Errorf("got %+v, %v", answer, err)
	}
	message := <-asked
	if message.Subject != "hep.ctl.v1.cancel.a=2Eb" || message.Header.Get("Content-Type") != "application/json" {
		t.Errorf("asked on %s with %v", message.Subject, message.Header)
	}
	var got bridgev1.CancelRunRequest
	if err := protojson.Unmarshal(message.Data, &got); err != nil {
		t.Fatal(err)
	}
	want := &bridgev1.CancelRunRequest{
		RunId: "r1", RequestId: "q1", Reason: "over \"budget\"", Force: true,
		InterruptGrace: &durationpb.Duration{Seconds: 1, Nanos: 5e8}, TerminateGrace: &durationpb.Duration{Nanos: 1},
		Wait: &durationpb.Duration{Seconds: 10},
	}
	if !proto.Equal(&got, want) {
		t.Errorf("asked %v", &got)
	}
}

func TestACancelLeavesOutWhatIsNotSet(t *testing.T) {
	s := startServer(t)
	asked := make(chan string, 1)
	s.gateway("hep.ctl.v1.cancel.default", func(request *nats.Msg) *nats.Msg {
		asked <- string(request.Data)
		return response(t, &bridgev1.CancelRunResponse{Run: &bridgev1.Run{State: bridgev1.Run_STATE_FINISHED}})
	})
	answer, err := hepworker.Cancel(t.Context(), s.conn, hepworker.CancelRequest{RunID: "r1", RequestID: "q1"})
	if err != nil || answer != (hepworker.CancelAnswer{State: "STATE_FINISHED"}) {
		t.Errorf("got %+v, %v", answer, err)
	}
	if body := <-asked; body != `{"runId":"r1","requestId":"q1"}` {
		t.Errorf("asked %s", body)
	}
}

func TestCancelSaysWhatTheBridgeRefuses(t *testing.T) {
	s := startServer(t)
	answers := make(chan *nats.Msg, 1)
	s.gateway("hep.ctl.v1.cancel.default", func(*nats.Msg) *nats.Msg { return <-answers })
	sentinels := []error{
		hepworker.ErrInvalidRequest, hepworker.ErrRunNotFound, hepworker.ErrOwnerUnreachable, hepworker.ErrLogUnavailable,
		hepworker.ErrDraining, hepworker.ErrLimitReached, hepworker.ErrInternal, hepworker.ErrNoGateway,
	}
	for _, test := range []struct {
		answer *nats.Msg
		want   hepworker.CancelError
		is     error
	}{
		{refusal("5", "RUN_NOT_FOUND", "no run r1"), hepworker.CancelError{Reason: "RUN_NOT_FOUND", Code: 5, Message: "no run r1"}, hepworker.ErrRunNotFound},
		{refusal("14", "OWNER_UNREACHABLE", "away"), hepworker.CancelError{Reason: "OWNER_UNREACHABLE", Code: 14, Message: "away"}, hepworker.ErrOwnerUnreachable},
		{refusal("8", "LIMIT_REACHED", "full"), hepworker.CancelError{Reason: "LIMIT_REACHED", Code: 8, Message: "full"}, hepworker.ErrLimitReached},
		{refusal("3", "INVALID_REQUEST", "bad"), hepworker.CancelError{Reason: "INVALID_REQUEST", Code: 3, Message: "bad"}, hepworker.ErrInvalidRequest},
		{refusal("x", "", "what?"), hepworker.CancelError{Message: "what?"}, nil},
	} {
		answers <- test.answer
		_, err := hepworker.Cancel(t.Context(), s.conn, hepworker.CancelRequest{RunID: "r1", RequestID: "q1"})
		var got *hepworker.CancelError
		if !errors.As(err, &got) || *got != test.want || !strings.Contains(err.Error(), "r1") || !strings.Contains(err.Error(), test.want.Message) {
			t.Errorf("got %v", err)
		}
		for _, sentinel := range sentinels {
			if errors.Is(err, sentinel) != (sentinel == test.is) {
				t.Errorf("errors.Is(%v, %v) is %v", err, sentinel, errors.Is(err, sentinel))
			}
		}
	}
}

func TestCancelWithoutAGatewayOrAnAnswer(t *testing.T) {
	s := startServer(t)
	request := hepworker.CancelRequest{RunID: "r1", RequestID: "q1"}
	if _, err := hepworker.Cancel(t.Context(), s.conn, request); !errors.Is(err, hepworker.ErrNoGateway) {
		t.Errorf("got %v", err)
	}
	s.gateway("hep.ctl.v1.cancel.default", func(*nats.Msg) *nats.Msg { return nil })
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := hepworker.Cancel(ctx, s.conn, request); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestAnAnswerThatIsNoJSONIsAnError(t *testing.T) {
	s := startServer(t)
	s.gateway("hep.ctl.v1.cancel.default", func(*nats.Msg) *nats.Msg { return &nats.Msg{Data: []byte("ok")} })
	_, err := hepworker.Cancel(t.Context(), s.conn, hepworker.CancelRequest{RunID: "r1", RequestID: "q1"})
	if syntax := (*json.SyntaxError)(nil); !errors.As(err, &syntax) {
		t.Errorf("got %v", err)
	}
}
