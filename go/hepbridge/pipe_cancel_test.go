//go:build unix

package hepbridge_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/hep-bridge/hep-bridge/go/hepbridge"
	"github.com/hep-bridge/hep-bridge/go/hepbridge/internal/fakebridge"
)

// sign is a command by which a script tells the test where it is, without its stdout, and a function
// that waits for it.
func sign(t *testing.T) (command string, await func()) {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "sign")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	return `echo x >"` + fifo + `"`, func() {
		t.Helper()
		// Opened for writing too, it does not wait for ever for a script that died.
		file, err := os.OpenFile(fifo, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := file.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := file.Read(make([]byte, 1)); err != nil {
			t.Fatalf("the script gave no sign: %v", err)
		}
	}
}

func TestASignalIsReportedHoweverSoonTheAgentDiesOfIt(t *testing.T) {
	bridge, client := connect(t)
	ctx := within(t, 30*time.Second)
	for range 30 {
		piped, err := client.Pipe(ctx, sh(`echo ready; exec sleep 60`), hepbridge.PipeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		bridge.Until(func() bool { return len(bridge.Run(piped.ID()).Stdout) > 0 })
		if _, err := piped.Cancel(ctx, "stop"); err != nil {
			t.Fatal(err)
		}
		if _, err := piped.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		run := runOf(bridge, piped.ID())
		if signals(run) != "SIGINT:false" || run.Exit.Signal != "SIGINT" || run.Opens != 1 {
			t.Fatalf("signals %q, exit %v, %d opens", signals(run), run.Exit, run.Opens)
		}
	}
}

func TestAFullBufferHoldsTheAgentBackAndACancelDrainsIt(t *testing.T) {
	bridge, client := connect(t)
	bridge.HoldAcks = true
	ctx := within(t, 30*time.Second)
	trapped, awaitTrapped := sign(t)
	interrupted, awaitInterrupted := sign(t)
	// As fa: it sees signals only between two writes.
	agent := `trap 'echo last; ` + interrupted + `; exit 130' INT; ` + flood(2000) + `; ` + trapped + `; ` + strings.Repeat(flood(2000)+`; `, 9) + `while :; do sleep 0.05; done`
	piped, err := client.Pipe(ctx, sh(agent), hepbridge.PipeOptions{BufferBytes: 64 << 10, SpillDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	awaitTrapped()
	if _, err := piped.Cancel(ctx, "stop"); err != nil {
		t.Fatal(err)
	}
	// The bridge still takes nothing, and the agent gets there all the same.
	awaitInterrupted()
	bridge.Do(func() { bridge.HoldAcks = false })
	if _, err := piped.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	run := runOf(bridge, piped.ID())
	if !strings.HasSuffix(string(run.Stdout), "last\n") || run.Exit.GetExitCode() != 130 || signals(run) != "SIGINT:false" {
		t.Errorf("stdout ends %q, exit %v, signals %s, %d opens", run.Stdout[max(0, len(run.Stdout)-20):], run.Exit, signals(run), run.Opens)
	}
}

func TestACancelIsOneInterruptHoweverOftenItComes(t *testing.T) {
	bridge, client := connect(t)
	ctx := within(t, 30*time.Second)
	agent := `n=0; trap 'n=$((n+1)); echo "int $n"' INT; echo ready; while [ $n = 0 ]; do sleep 0.02; done; sleep 0.4; exit 130`
	piped, err := client.Pipe(ctx, sh(agent), hepbridge.PipeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bridge.Until(func() bool { return string(bridge.Run(piped.ID()).Stdout) == "ready\n" })
	for _, id := range []string{"r1", "r1", "r2"} {
		if _, err := piped.Cancel(ctx, "stop", hepbridge.RequestID(id)); err != nil {
			t.Fatal(err)
		}
	}
	bridge.Until(func() bool { return len(bridge.Run(piped.ID()).Signals) == 1 })
	// After a reopen the bridge asks again.
	bridge.Stop()
	bridge.Listen()
	if _, err := piped.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	run := runOf(bridge, piped.ID())
	if string(run.Stdout) != "ready\nint 1\n" || run.Exit.GetExitCode() != 130 {
		t.Errorf("stdout %q, exit %v", run.Stdout, run.Exit)
	}
	for _, signal := range run.Signals {
		if signal.Signal != "SIGINT" || signal.RequestId != "r1" {
			t.Errorf("signalled %v", signal)
		}
	}
}

func TestACancelEscalatesToKillOfTheGroup(t *testing.T) {
	bridge, client := connect(t)
	ctx := within(t, 30*time.Second)
	piped, err := client.Pipe(ctx, sh(`trap '' INT TERM; echo ready; while :; do sleep 0.05; done`),
		hepbridge.PipeOptions{InterruptGrace: 50 * time.Millisecond, TerminateGrace: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	bridge.Until(func() bool { return len(bridge.Run(piped.ID()).Stdout) > 0 })
	if _, err := piped.Cancel(ctx, "stop"); err != nil {
		t.Fatal(err)
	}
	if _, err := piped.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	run := runOf(bridge, piped.ID())
	if signals(run) != "SIGINT:false SIGTERM:false SIGKILL:true" || run.Exit.Signal != "SIGKILL" {
		t.Errorf("signals %s, exit %v", signals(run), run.Exit)
	}
}

func TestALaterCancelCutsTheGracesShortAndInterruptsNoMore(t *testing.T) {
	bridge, client := connect(t)
	ctx := within(t, 30*time.Second)
	agent := `trap 'echo int' INT; trap 'echo term' TERM; echo ready; while :; do sleep 0.02; done`
	piped, err := client.Pipe(ctx, sh(agent), hepbridge.PipeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	until := func(stdout string) {
		t.Helper()
		bridge.Until(func() bool { return string(bridge.Run(piped.ID()).Stdout) == stdout })
	}
	cancel := func(id string, options ...hepbridge.CancelOption) {
		t.Helper()
		if _, err := piped.Cancel(ctx, "stop", append(options, hepbridge.RequestID(id))...); err != nil {
			t.Fatal(err)
		}
	}
	until("ready\n")
	cancel("r1", hepbridge.Graces(time.Hour, time.Hour))
	until("ready\nint\n")
	cancel("r2", hepbridge.Force())
	until("ready\nint\nterm\n")
	// A grace that is longer than what holds changes nothing.
	cancel("r3", hepbridge.Graces(time.Minute, time.Minute))
	cancel("r4", hepbridge.Graces(0, 10*time.Millisecond))
	if _, err := piped.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	run := runOf(bridge, piped.ID())
	if string(run.Stdout) != "ready\nint\nterm\n" || signals(run) != "SIGINT:false SIGTERM:false SIGKILL:true" || run.Exit.Signal != "SIGKILL" {
		t.Errorf("stdout %q, signals %s, exit %v", run.Stdout, signals(run), run.Exit)
	}
	for _, signal := range run.Signals {
		if signal.RequestId != "r1" {
			t.Errorf("signalled %v", signal)
		}
	}
}

func TestTheEndOfTheContextIsACancelWithOneRequestID(t *testing.T) {
	bridge, client := connect(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	piped, err := client.Pipe(ctx, sh(`trap 'exit 130' INT; echo ready; while :; do sleep 0.05; done`), hepbridge.PipeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bridge.Until(func() bool { return len(bridge.Run(piped.ID()).Stdout) > 0 })
	cancel(errors.New("tab closed"))
	if _, err := piped.Wait(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	run := runOf(bridge, piped.ID())
	if len(run.Requests) != 1 || len(run.Signals) != 1 || run.Requests[0].Reason != "tab closed" {
		t.Fatalf("requests %v, signals %v", run.Requests, run.Signals)
	}
	if run.Signals[0].RequestId != run.Requests[0].RequestId || run.Exit.GetExitCode() != 130 {
		t.Errorf("signalled %v, exit %v", run.Signals[0], run.Exit)
	}
}

func TestAFencedRunStopsItsAgent(t *testing.T) {
	bridge, client := connect(t)
	bridge.CutIngestAfter = 1
	bridge.Fail = func(method string, call int) error {
		if method == "Ingest" && call > 1 {
			return fakebridge.Error(codes.Aborted, "FENCED", "another owner writes this run")
		}
		return nil
	}
	ctx := within(t, 20*time.Second)
	piped, err := client.Pipe(ctx, sh(`trap 'exit 130' INT; echo $$; `+flood(5000)+`; while :; do sleep 0.05; done`), hepbridge.PipeOptions{BufferBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := piped.Wait(ctx); !errors.Is(err, hepbridge.ErrFenced) {
		t.Errorf("got %v", err)
	}
	pid, _, _ := strings.Cut(string(runOf(bridge, piped.ID()).Stdout), "\n")
	awaitGone(t, pid)
}

func TestWithoutDiskTheAgentsLastBytesAreKept(t *testing.T) {
	bridge, client := connect(t)
	bridge.HoldAcks = true
	ctx := within(t, 20*time.Second)
	trapped, awaitTrapped := sign(t)
	piped, err := client.Pipe(ctx, sh(`trap '' INT; `+trapped+`; `+flood(5000)+`; sleep 60`), hepbridge.PipeOptions{
		BufferBytes: 10_000, SpillDir: "/nonexistent", InterruptGrace: 200 * time.Millisecond, TerminateGrace: 50 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	awaitTrapped()
	if _, err := piped.Cancel(ctx, "stop"); err != nil {
		t.Fatal(err)
	}
	bridge.Until(func() bool { return bridge.Called("CancelRun") == 1 })
	time.AfterFunc(2*time.Second, func() { bridge.Do(func() { bridge.HoldAcks = false }) })
	if _, err := piped.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	run := runOf(bridge, piped.ID())
	if run.Exit.StdoutBytes != int64(len(run.Stdout)) || !strings.HasPrefix(strings.Repeat(line, 5000), string(run.Stdout)) || len(run.Stdout) < 10_000 {
		t.Errorf("%d bytes, exit %v", len(run.Stdout), run.Exit)
	}
}
