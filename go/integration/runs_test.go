package integration

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge"
)

const header = `echo '{"type":"hep_header","hep":"v1","fah":"1","session":"s"}'` + "\n"
const done = `echo '{"type":"turn_done","turn_id":1,"message":"hi","tool_results":[],"usage":{"input":1,"output":2,"cost":0.5},"stop_reason":"stop"}'` + "\n"

func TestStartWaitList(t *testing.T) {
	ctx, client := dial(t, shared)
	labels := map[string]string{"test": hepbridge.NewRunID()}
	run, err := client.StartRun(ctx, hepbridge.StartOptions{Profile: "sh", Prompt: header + done, Labels: labels})
	if err != nil {
		t.Fatal(err)
	}
	result, err := run.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !result.Completed() || result.Answer != "hi" {
		t.Errorf("result %+v", result)
	}
	var listed []string
	for record, err := range client.List(ctx, hepbridge.ListOptions{Labels: labels}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, record.GetRunId())
	}
	if !slices.Equal(listed, []string{run.ID()}) {
		t.Errorf("listed %v, want %s", listed, run.ID())
	}
}

func TestErrors(t *testing.T) {
	ctx, client := dial(t, shared)
	if _, err := client.Run(hepbridge.NewRunID()).Get(ctx); !errors.Is(err, hepbridge.ErrRunNotFound) {
		t.Errorf("unknown run: %v", err)
	}
	if _, err := client.StartRun(ctx, hepbridge.StartOptions{Profile: "nope"}); !errors.Is(err, hepbridge.ErrProfileNotFound) {
		t.Errorf("unknown profile: %v", err)
	}
	for _, err := range client.Run(hepbridge.NewRunID()).Events(ctx) {
		if !errors.Is(err, hepbridge.ErrRunNotFound) {
			t.Errorf("events of an unknown run: %v", err)
		}
	}
	run, err := client.StartRun(ctx, hepbridge.StartOptions{Profile: "sh", Prompt: header + done})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	for _, err := range run.Events(ctx, hepbridge.AfterSequence(1_000)) {
		if !errors.Is(err, hepbridge.ErrCursorAhead) {
			t.Errorf("events after an unknown sequence: %v", err)
		}
	}
	for _, err := range run.Events(ctx, hepbridge.Cursor("forged")) {
		if !errors.Is(err, hepbridge.ErrCursorInvalid) {
			t.Errorf("a forged cursor: %v", err)
		}
	}
}

func TestEventsWithoutDeltasAndFromTheMiddle(t *testing.T) {
	ctx, client := dial(t, shared)
	script := header + `i=0; while [ $i -lt 300 ]; do echo '{"type":"message_delta","turn_id":1,"delta":"x"}'; i=$((i+1)); done` + "\n" + done
	run, err := client.StartRun(ctx, hepbridge.StartOptions{Profile: "sh", Prompt: script})
	if err != nil {
		t.Fatal(err)
	}
	sequences := func(options ...hepbridge.SubscribeOption) (all []int64) {
		for event, err := range run.Events(ctx, options...) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, event.GetSequence())
		}
		return all
	}
	all := sequences()
	if len(all) != 304 {
		t.Fatalf("%d events", len(all))
	}
	for i, sequence := range all {
		if sequence != int64(i+1) {
			t.Fatalf("event %d has sequence %d", i, sequence)
		}
	}
	if got, want := sequences(hepbridge.SkipDeltas()), []int64{1, 2, 303, 304}; !slices.Equal(got, want) {
		t.Errorf("without deltas %v, want %v", got, want)
	}
	if got, want := sequences(hepbridge.SkipClosedDeltas()), []int64{1, 2, 303, 304}; !slices.Equal(got, want) {
		t.Errorf("without closed deltas %v, want %v", got, want)
	}
	for _, after := range []int64{1, 2, 17, 302, 303} {
		if got := sequences(hepbridge.AfterSequence(after)); !slices.Equal(got, all[after:]) {
			t.Errorf("after %d: %d events from %d", after, len(got), got[0])
		}
	}
}

// TestPipedAgents runs the stand-in agents in this process tree and cancels those that do not end.
func TestPipedAgents(t *testing.T) {
	tests := map[string]struct {
		cancel  string // event before the cancel, "" for none
		outcome eventv1.Outcome
	}{
		"c01": {"", eventv1.Outcome_OUTCOME_COMPLETED},
		"c02": {"", eventv1.Outcome_OUTCOME_COMPLETED},
		"c05": {"", eventv1.Outcome_OUTCOME_COMPLETED},
		"c08": {"", eventv1.Outcome_OUTCOME_FAILED},
		"c09": {"message_delta", eventv1.Outcome_OUTCOME_CANCELLED},
		"c11": {"agent_start", eventv1.Outcome_OUTCOME_CANCELLED},
		"c12": {"tool_delta", eventv1.Outcome_OUTCOME_CANCELLED},
	}
	for _, file := range append(golden(t, "children/*.sh"), golden(t, "children/*.mjs")...) {
		test, ok := tests[baseName(file)]
		if !ok {
			t.Fatalf("no expectation for %s", file)
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			ctx, client := dial(t, shared)
			run, err := client.Pipe(ctx, exec.Command(file), hepbridge.PipeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for event, err := range run.Events(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				if name(event) == test.cancel {
					if _, err := run.Cancel(ctx, "test"); err != nil {
						t.Fatal(err)
					}
					test.cancel = ""
				}
				// The one that left its group is reported, not killed.
				if update := event.GetToolDelta().GetUpdate(); update != "" {
					defer syscall.Kill(lastPID(t, update), syscall.SIGKILL)
				}
			}
			result, err := run.Wait(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if result.Outcome != test.outcome {
				t.Errorf("outcome %v, want %v", result.Outcome, test.outcome)
			}
		})
	}
}

// TestPipeSurvivesTheBridge: the bridge is killed under a stream and started again.
func TestPipeSurvivesTheBridge(t *testing.T) {
	dir := t.TempDir()
	first, err := serve(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, client := dial(t, first)
	script := header + `i=0; while [ $i -lt 400 ]; do echo '{"type":"message_delta","turn_id":1,"delta":"x"}'; i=$((i+1)); sleep 0.005; done` + "\n" + done
	run, err := client.Pipe(ctx, exec.Command("sh", "-c", script), hepbridge.PipeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var last int64
	for event, err := range run.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if event.GetSequence() != last+1 {
			t.Fatalf("sequence %d after %d", event.GetSequence(), last)
		}
		last = event.GetSequence()
		if last == 100 {
			if err := first.command.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = first.command.Wait()
			second, err := serveAt(dir, first.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := second.stop(); err != nil {
					t.Error(err)
				}
			}()
		}
	}
	result, err := run.Wait(ctx)
	if err != nil || !result.Completed() || last != 404 {
		t.Errorf("%d events, %+v, %v", last, result, err)
	}
}
