//go:build unix

package hepbridge_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge"
	"github.com/hep-bridge/hep-bridge/go/hepbridge/internal/fakebridge"
)

const (
	header = `{"type":"hep_header","hep":"v1","fah":"1.0.0","session":"s1"}` + "\n"
	line   = `{"type":"message_delta","turn_id":1,"delta":"hi"}` + "\n"
)

func sh(script string) *exec.Cmd { return exec.Command("sh", "-c", script) }

// flood writes n times line.
func flood(n int) string {
	return fmt.Sprintf(`yes '%s' | head -n %d`, strings.TrimSpace(line), n)
}

// pipe runs a script to its end and gives what the bridge has of it.
func pipe(t *testing.T, bridge *fakebridge.Bridge, client *hepbridge.Client, command *exec.Cmd, options hepbridge.PipeOptions) *fakebridge.Run {
	t.Helper()
	ctx := within(t, 30*time.Second)
	piped, err := client.Pipe(ctx, command, options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := piped.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if piped.Finished().GetState() != bridgev1.Run_STATE_FINISHED {
		t.Errorf("record is %v", piped.Finished())
	}
	return runOf(bridge, piped.ID())
}

func runOf(bridge *fakebridge.Bridge, id string) *fakebridge.Run {
	var run fakebridge.Run
	bridge.Do(func() { run = *bridge.Run(id) })
	return &run
}

func signals(run *fakebridge.Run) string {
	var all []string
	for _, signal := range run.Signals {
		all = append(all, fmt.Sprintf("%s:%v%s", signal.Signal, signal.ProcessGroup, signal.Error))
	}
	return strings.Join(all, " ")
}

func TestPipeCarriesBothPipesAndTheExitCode(t *testing.T) {
	bridge, client := connect(t)
	run := pipe(t, bridge, client, sh(`printf 'one\ntwo'; printf oops >&2; exit 7`), hepbridge.PipeOptions{
		Labels: map[string]string{"team": "x"}, PartitionKey: "thread", Strict: true,
	})
	if string(run.Stdout) != "one\ntwo" || string(run.Stderr) != "oops" || run.Exit.GetExitCode() != 7 || run.Exit.Signal != "" {
		t.Errorf("stdout %q, stderr %q, exit %v", run.Stdout, run.Stderr, run.Exit)
	}
	open := bridge.Requests("Ingest")[0].(*bridgev1.IngestOpen)
	if open.Labels["team"] != "x" || open.PartitionKey != "thread" || !open.Strict {
		t.Errorf("opened %v", open)
	}
}

func TestPipeTellsTheSignalThatEndedTheAgent(t *testing.T) {
	bridge, client := connect(t)
	run := pipe(t, bridge, client, sh(`kill -KILL $$`), hepbridge.PipeOptions{})
	if run.Exit.ExitCode != nil || run.Exit.Signal != "SIGKILL" {
		t.Errorf("exit %v", run.Exit)
	}
}

func TestACommandThatCannotStartIsARunThatFailed(t *testing.T) {
	bridge, client := connect(t)
	run := pipe(t, bridge, client, exec.Command("/nonexistent/agent"), hepbridge.PipeOptions{})
	if !strings.Contains(run.Exit.SpawnError, "/nonexistent/agent") {
		t.Errorf("exit %v", run.Exit)
	}
}

func TestPipeResumesWhereTheBridgeIs(t *testing.T) {
	bridge, client := connect(t)
	bridge.CutIngestAfter = 20_000
	run := pipe(t, bridge, client, sh(flood(3000)+`; printf tail; printf err >&2`), hepbridge.PipeOptions{BufferBytes: 10_000})
	if want := strings.Repeat(line, 3000) + "tail"; string(run.Stdout) != want || string(run.Stderr) != "err" {
		t.Errorf("%d bytes of stdout, %d wanted", len(run.Stdout), len(want))
	}
	if run.Opens < 5 {
		t.Errorf("%d calls", run.Opens)
	}
}

func TestPipeOutlivesARestartOfTheBridge(t *testing.T) {
	bridge, client := connect(t)
	ctx := within(t, 30*time.Second)
	command := sh(flood(500) + `; read go; ` + flood(500))
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	piped, err := client.Pipe(ctx, command, hepbridge.PipeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bridge.Until(func() bool { return len(bridge.Run(piped.ID()).Stdout) == 500*len(line) })
	bridge.Stop()
	fmt.Fprintln(stdin, "go")
	bridge.Listen()
	if _, err := piped.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if run := runOf(bridge, piped.ID()); string(run.Stdout) != strings.Repeat(line, 1000) || run.Exit.GetExitCode() != 0 {
		t.Errorf("%d bytes, exit %v", len(run.Stdout), run.Exit)
	}
}

func TestALineLongerThanTheBufferGoesThrough(t *testing.T) {
	bridge, client := connect(t)
	run := pipe(t, bridge, client, sh(`head -c 3000000 /dev/zero | tr '\0' x; echo; echo short`),
		hepbridge.PipeOptions{BufferBytes: 100_000, SpillDir: t.TempDir()})
	if want := append(bytes.Repeat([]byte("x"), 3_000_000), "\nshort\n"...); !bytes.Equal(run.Stdout, want) {
		t.Errorf("%d bytes", len(run.Stdout))
	}
}

func TestAFullBufferHoldsTheAgentBackAndACancelDrainsIt(t *testing.T) {
	bridge, client := connect(t)
	bridge.HoldAcks = true
	ctx := within(t, 30*time.Second)
	told := filepath.Join(t.TempDir(), "told")
	if err := syscall.Mkfifo(told, 0o600); err != nil {
		t.Fatal(err)
	}
	// As fa: it sees signals only between two writes.
	agent := `trap 'echo last; echo x >"` + told + `"; exit 130' INT; ` + strings.Repeat(flood(2000)+`; `, 10) + `while :; do sleep 0.05; done`
	piped, err := client.Pipe(ctx, sh(agent), hepbridge.PipeOptions{BufferBytes: 64 << 10, SpillDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := piped.Cancel(ctx, "stop"); err != nil {
		t.Fatal(err)
	}
	// The bridge still takes nothing, and the agent got there all the same.
	if _, err := os.ReadFile(told); err != nil {
		t.Fatal(err)
	}
	bridge.Do(func() { bridge.HoldAcks = false })
	if _, err := piped.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	run := runOf(bridge, piped.ID())
	if !strings.HasSuffix(string(run.Stdout), "last\n") || run.Exit.GetExitCode() != 130 || signals(run) != "SIGINT:false" {
		t.Errorf("stdout ends %q, exit %v, signals %s", run.Stdout[max(0, len(run.Stdout)-20):], run.Exit, signals(run))
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

func TestAGrandchildThatHoldsThePipeIsEnded(t *testing.T) {
	bridge, client := connect(t)
	for name, script := range map[string]string{
		"in the group":  `echo one; sleep 300 & echo $! >&2; exit 0`,
		"out of it":     `echo one; setsid sleep 5 & exit 0`,
		"off the pipes": `echo one; sleep 300 >/dev/null 2>&1 & echo $! >&2; exit 0`,
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			run := pipe(t, bridge, client, sh(script), hepbridge.PipeOptions{ExitGrace: 100 * time.Millisecond})
			if took := time.Since(began); took > 4*time.Second {
				t.Errorf("took %v", took)
			}
			if string(run.Stdout) != "one\n" || run.Exit.GetExitCode() != 0 {
				t.Errorf("stdout %q, exit %v", run.Stdout, run.Exit)
			}
			if pid := strings.TrimSpace(string(run.Stderr)); pid != "" {
				awaitGone(t, pid)
			}
		})
	}
}

// awaitGone waits until no process, or a zombie only, has this id.
func awaitGone(t *testing.T, pid string) {
	t.Helper()
	script := `while kill -0 $1 2>/dev/null && ! grep -q '^State:.Z' /proc/$1/status; do sleep 0.02; done`
	if err := exec.CommandContext(within(t, 5*time.Second), "sh", "-c", script, "sh", pid).Run(); err != nil {
		t.Errorf("process %s is still there: %v", pid, err)
	}
}

func TestARunIDThatWasUsedIsRefusedBeforeAnythingStarts(t *testing.T) {
	bridge, client := connect(t)
	id := hepbridge.NewRunID()
	bridge.Do(func() { bridge.Run(id).Stdout = []byte(header) })
	command := sh(`echo started`)
	_, err := client.Pipe(within(t, 10*time.Second), command, hepbridge.PipeOptions{RunID: id})
	if !errors.Is(err, hepbridge.ErrRunExists) || command.Process != nil {
		t.Errorf("got %v, process %v", err, command.Process)
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
	piped, err := client.Pipe(ctx, sh(`trap '' INT; `+flood(5000)+`; sleep 60`), hepbridge.PipeOptions{
		BufferBytes: 10_000, SpillDir: "/nonexistent", InterruptGrace: 200 * time.Millisecond, TerminateGrace: 50 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
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

func TestPipeLeavesNoFilesBehind(t *testing.T) {
	bridge, client := connect(t)
	bridge.HoldAcks = true
	directory := t.TempDir()
	ctx := within(t, 20*time.Second)
	piped, err := client.Pipe(ctx, sh(flood(20000)), hepbridge.PipeOptions{BufferBytes: 10_000, SpillDir: directory})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := piped.Cancel(ctx, "drain"); err != nil {
		t.Fatal(err)
	}
	bridge.Do(func() { bridge.HoldAcks = false })
	if _, err := piped.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if left, _ := exec.Command("ls", "-A", directory).Output(); len(left) > 0 {
		t.Errorf("left %s", left)
	}
}
