package hepbridge

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
)

// PipeOptions says how an agent's stream becomes a run.
type PipeOptions struct {
	// Labels to find the run by; see StartOptions.
	Labels map[string]string
	// PartitionKey; see StartOptions.
	PartitionKey string
	// Strict ends the run as FAILED at the first line that is no frame or breaks a rule.
	Strict bool
	// Deadline of the whole run, after which the bridge cancels it; 0 = none.
	Deadline time.Duration
	// Policies are further limits.
	Policies Policies
	// RunID, a UUIDv7 that was not used before; empty = minted here.
	RunID string

	// BufferBytes bounds what is held in memory of each of stdout and stderr until the bridge has
	// committed it; 0 = 8 MiB. Beyond it the agent has to wait, as with any full pipe.
	BufferBytes int64
	// SpillBytes bounds the temporary file that each of the two gets where the agent must not wait:
	// while a cancel runs, after its exit, and inside a line longer than BufferBytes; 0 = 1 GiB.
	// Beyond it the agent waits after all, and a cancel ends with SIGKILL.
	SpillBytes int64
	// SpillDir is where these files lie; empty = the system's temporary directory.
	SpillDir string
	// InterruptGrace is the time from SIGINT to SIGTERM, TerminateGrace from SIGTERM to SIGKILL, where
	// the bridge does not say: 0 = 12 s and 5 s.
	InterruptGrace, TerminateGrace time.Duration
	// ExitGrace is how long, after the agent's exit, a process that it left behind may hold its stdout
	// or stderr open before it is killed; 0 = 500 ms.
	ExitGrace time.Duration
	// FinishWithin bounds how long, once the context is over and the agent gone, the rest of the
	// stream is still offered to a bridge that cannot be reached; 0 = 30 s.
	FinishWithin time.Duration
}

// PipedRun is a run whose agent this program spawned. The methods of Run work as for any run;
// Cancel goes by way of the bridge, the context of Pipe also without it.
type PipedRun struct {
	*Run
	options PipeOptions
	agent   *agent
	stdout  *window
	stderr  *window
	cancels *escalation
	// lifetime carries the calls; it outlives the context of Pipe.
	lifetime context.Context
	done     chan struct{}
	wakes    chan struct{}

	// contextOver is closed when the context of Pipe is.
	contextOver <-chan struct{}

	mu       sync.Mutex
	exit     *bridgev1.IngestExit
	finished *bridgev1.Run
	err      error
}

// Pipe opens a run, starts the command in a process group of its own and streams its stdout (HEP)
// and stderr to the bridge. It returns as soon as the command runs; Wait tells how the run ended.
//
// The command must not be started, and its Stdout and Stderr not set; they are the run's. A command
// that cannot be started is a run that ends as FAILED with reason SPAWN, not an error of Pipe.
//
// The connection may be cut and the bridge restarted at any moment: the stream goes on where the
// bridge's log ends, without loss or repetition. What is not committed yet is held here, see
// PipeOptions; a program that dies takes that with it, and the run then ends as LOST.
//
// A cancel, from whomever, becomes SIGINT to the command, after a grace SIGTERM, after another
// SIGKILL to its group; each at most once. A later cancel only shortens the graces; the log names the
// first one for all signals. When ctx ends the same happens, with the cause of ctx as
// the reason. Not available on Windows.
func (c *Client) Pipe(ctx context.Context, command *exec.Cmd, options PipeOptions) (*PipedRun, error) {
	if !canPipe {
		return nil, errors.New("hepbridge: pipe: not available on this system: it has no process groups and signals")
	}
	if command.Process != nil || command.Stdout != nil || command.Stderr != nil {
		return nil, errors.New("hepbridge: pipe: the command is started, or its Stdout or Stderr is set; leave both to Pipe")
	}
	p := c.newPipedRun(ctx, options)
	first, err := retried(ctx, c, "open run "+p.id, p.open)
	if err != nil {
		return nil, err
	}
	if first.stdoutSent > 0 || first.stderrSent > 0 {
		first.leave()
		return nil, &Error{
			Operation: "open run " + p.id, Reason: string(ErrRunExists.(reason)),
			Message: "bytes of another process are in this run; mint an id of its own for each process",
		}
	}
	if command.Cancel != nil {
		// The context of exec.CommandContext: the same end as by the context of Pipe.
		command.Cancel = func() error {
			p.cancelHere(context.Canceled)
			return nil
		}
	}
	if err := p.start(command); err != nil {
		p.exit = &bridgev1.IngestExit{SpawnError: fmt.Sprint(err)}
	}
	go p.cancelWith(ctx)
	go p.upload(first)
	return p, nil
}

func (c *Client) newPipedRun(ctx context.Context, options PipeOptions) *PipedRun {
	if options.RunID == "" {
		options.RunID = NewRunID()
	}
	setDefault(&options.BufferBytes, 8<<20)
	setDefault(&options.SpillBytes, 1<<30)
	setDefault(&options.InterruptGrace, 12*time.Second)
	setDefault(&options.TerminateGrace, 5*time.Second)
	setDefault(&options.ExitGrace, 500*time.Millisecond)
	setDefault(&options.FinishWithin, 30*time.Second)
	p := &PipedRun{
		Run:         c.Run(options.RunID),
		options:     options,
		lifetime:    context.WithoutCancel(ctx),
		done:        make(chan struct{}),
		wakes:       make(chan struct{}, 1),
		contextOver: ctx.Done(),
	}
	newWindow := func(byLine bool) *window {
		return newWindow(options.BufferBytes, byLine, &spill{directory: options.SpillDir, limit: options.SpillBytes}, p.wake)
	}
	p.stdout, p.stderr = newWindow(true), newWindow(false)
	return p
}

func setDefault[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}

// start spawns the command and what reads from it.
func (p *PipedRun) start(command *exec.Cmd) error {
	agent, err := startAgent(command)
	if err != nil {
		p.cancels = newEscalation(nil, p.wake)
		return err
	}
	p.agent = agent
	p.cancels = newEscalation(agent, p.wake)
	readersDone := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() { readInto(p.stdout, agent.stdout) })
	readers.Go(func() { readInto(p.stderr, agent.stderr) })
	go func() {
		readers.Wait()
		close(readersDone)
	}()
	go p.watchExit(readersDone)
	return nil
}

func (p *PipedRun) watchExit(readersDone <-chan struct{}) {
	state, err := p.agent.wait(p.stdout, p.stderr, readersDone, p.options.ExitGrace)
	exit := &bridgev1.IngestExit{StdoutBytes: p.stdout.size(), StderrBytes: p.stderr.size()}
	if err == nil {
		code, signal := endOf(state)
		exit.Signal = signal
		if signal == "" {
			code := int32(code)
			exit.ExitCode = &code
		}
	}
	p.mu.Lock()
	p.exit = exit
	p.mu.Unlock()
	p.wake()
}

// drain: from here on the agent must not wait for the bridge.
func (p *PipedRun) drain() {
	p.stdout.drain()
	p.stderr.drain()
}

// wake tells the sender that there is something to send.
func (p *PipedRun) wake() {
	select {
	case p.wakes <- struct{}{}:
	default:
	}
}

// Done is closed when the agent is gone and its run's end is committed, or could not be.
func (p *PipedRun) Done() <-chan struct{} { return p.done }

// Wait returns how the run ended, once the agent is gone and the end is committed. An error means
// that this could not be learned, or that the bridge would not take the stream to its end (ErrFenced,
// ErrIngestTakenOver, ErrUnavailable, …); then the agent was stopped. To see the end of a run that the
// context of Pipe cancelled, give Wait another one.
func (p *PipedRun) Wait(ctx context.Context) (*Result, error) {
	select {
	case <-p.done:
	case <-ctx.Done():
		return nil, newError(ctx, "wait for run "+p.id, ctx.Err())
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.Run.Wait(ctx)
}

// Finished is the run's record at its end; nil before Done, and if the end was not committed.
func (p *PipedRun) Finished() *bridgev1.Run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.finished
}
