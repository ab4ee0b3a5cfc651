//go:build unix

package hepbridge_test

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

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

func TestAnEndWhoseAnswerIsLostIsAskedForAgain(t *testing.T) {
	bridge, client := connect(t)
	bridge.CutAtExit = true
	run := pipe(t, bridge, client, sh(`echo one; printf tail`), hepbridge.PipeOptions{})
	if string(run.Stdout) != "one\ntail" || run.Opens != 2 || run.Exit.GetExitCode() != 0 {
		t.Errorf("stdout %q, %d calls, exit %v", run.Stdout, run.Opens, run.Exit)
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

func TestAPipeIsOpenedWithItsDeadlineAndPolicies(t *testing.T) {
	bridge, client := connect(t)
	pipe(t, bridge, client, sh("echo"), hepbridge.PipeOptions{Deadline: time.Hour, Policies: someLimits})
	pipe(t, bridge, client, sh("echo"), hepbridge.PipeOptions{})
	requests := bridge.Requests("Ingest")
	limited, plain := requests[0].(*bridgev1.IngestOpen), requests[1].(*bridgev1.IngestOpen)
	if limited.Deadline.AsDuration() != time.Hour || !proto.Equal(limited.Policies, someLimitsSent) {
		t.Errorf("opened %v", limited)
	}
	if want := (&bridgev1.IngestOpen{RunId: plain.RunId}); !proto.Equal(plain, want) {
		t.Errorf("opened %v", plain)
	}
}
