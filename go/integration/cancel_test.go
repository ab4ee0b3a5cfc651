package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge"
	"github.com/hep-bridge/hep-bridge/go/hepworker"
)

const deaf = `trap '' INT TERM` + "\n"
const forever = "while :; do sleep 0.05; done\n"

// startDeaf starts a run whose agent heeds neither SIGINT nor SIGTERM, and waits until it does not.
func startDeaf(ctx context.Context, t *testing.T, client *hepbridge.Client) *hepbridge.Run {
	t.Helper()
	run, err := client.StartRun(ctx, hepbridge.StartOptions{Profile: "sh", Prompt: deaf + header + forever})
	if err != nil {
		t.Fatal(err)
	}
	for event, err := range run.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if event.GetHepHeader() != nil {
			return run
		}
	}
	t.Fatal("no header")
	return nil
}

func TestWorkerCancelsOverNATS(t *testing.T) {
	ctx, client := dial(t, shared)
	conn, err := nats.Connect(shared.natsURL, nats.Token(shared.token))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	run := startDeaf(ctx, t, client)
	request := hepworker.CancelRequest{
		RunID: run.ID(), RequestID: hepbridge.NewRunID(), Reason: "budget of the month",
		Force: true, TerminateGrace: 100 * time.Millisecond, Wait: 20 * time.Second,
	}
	answer, err := hepworker.Cancel(ctx, conn, request)
	if err != nil {
		t.Fatal(err)
	}
	if answer.State != "STATE_FINISHED" || answer.Outcome != "OUTCOME_CANCELLED" || answer.RequestedSequence == 0 {
		t.Errorf("answer %+v", answer)
	}
	record, err := run.Get(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if record.GetCancelCause() != eventv1.CancelCause_CANCEL_CAUSE_CALLER || record.GetDetail() == "" {
		t.Errorf("record %v", record)
	}
	unknown := hepworker.CancelRequest{RunID: hepbridge.NewRunID(), RequestID: hepbridge.NewRunID()}
	if _, err := hepworker.Cancel(ctx, conn, unknown); !errors.Is(err, hepworker.ErrRunNotFound) {
		t.Errorf("unknown run: %v", err)
	}
}

func TestPolicyEndsARun(t *testing.T) {
	ctx, client := dial(t, shared)
	options := hepbridge.StartOptions{
		Profile: "sh", Prompt: header + forever,
		Policies: hepbridge.Policies{Stall: 500 * time.Millisecond},
	}
	run, err := client.StartRun(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	record, err := run.Get(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if record.GetCancelCause() != eventv1.CancelCause_CANCEL_CAUSE_STALLED || record.GetState() != bridgev1.Run_STATE_FINISHED {
		t.Errorf("record %v", record)
	}
}
