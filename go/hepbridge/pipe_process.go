package hepbridge

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// agent is the process of a Pipe. It leads its own process group.
type agent struct {
	command        *exec.Cmd
	stdout, stderr *os.File

	mu     sync.Mutex
	reaped bool
	// exited is closed when the process is gone.
	exited chan struct{}
}

// startAgent starts the command with pipes whose other ends are stdout and stderr of the agent.
func startAgent(command *exec.Cmd) (*agent, error) {
	stdout, stdoutOfAgent, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stderr, stderrOfAgent, err := os.Pipe()
	if err != nil {
		closeAll(stdout, stdoutOfAgent)
		return nil, err
	}
	// Files, so that the command makes no copying goroutines, which would end with the process and
	// not with the pipe.
	command.Stdout, command.Stderr = stdoutOfAgent, stderrOfAgent
	leadGroup(command)
	err = command.Start()
	closeAll(stdoutOfAgent, stderrOfAgent)
	if err != nil {
		closeAll(stdout, stderr)
		return nil, err
	}
	return &agent{command: command, stdout: stdout, stderr: stderr, exited: make(chan struct{})}, nil
}

// closeAll closes pipe ends, where an error has no meaning.
func closeAll(files ...*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}

// signal sends to the process, or to its whole group. Once the process was reaped, the number of an
// empty group may be another's: then nothing is sent.
func (a *agent) signal(signal syscall.Signal, group bool) error {
	if !group {
		err := a.command.Process.Signal(signal)
		if errors.Is(err, os.ErrProcessDone) {
			return syscall.ESRCH
		}
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reaped {
		return syscall.ESRCH
	}
	return kill(a.command.Process.Pid, signal, true)
}

// wait returns when the process is gone and its pipes were read to their end, with how it ended.
// What it left running in its group is killed, after grace if it holds a pipe open; what left the
// group and holds one is waited for once more as long, and then no longer listened to.
func (a *agent) wait(stdout, stderr *window, readersDone <-chan struct{}, grace time.Duration) (state *os.ProcessState, err error) {
	seen := awaitExit(a.command.Process.Pid)
	if !seen {
		state, err = a.command.Process.Wait()
		a.mu.Lock()
		a.reaped = true
		a.mu.Unlock()
	}
	close(a.exited)
	stdout.drainLast()
	stderr.drainLast()
	if !closedWithin(readersDone, grace) {
		a.killGroup()
		if !closedWithin(readersDone, grace) {
			stdout.stop()
			stderr.stop()
			a.stopReading()
			<-readersDone
		}
	}
	a.killGroup()
	if seen {
		a.mu.Lock()
		state, err = a.command.Process.Wait()
		a.reaped = true
		a.mu.Unlock()
	}
	// Lets go of what the command holds for its stdin and its context.
	go func() { _ = a.command.Wait() }()
	return state, err
}

// killGroup ends what the process left behind. The number of a group that has members is not given
// to another, so this is right after the process was reaped, too.
func (a *agent) killGroup() { _ = kill(a.command.Process.Pid, syscall.SIGKILL, true) }

// stopReading ends reads that wait for an empty pipe; what is in the pipe was read before.
func (a *agent) stopReading() {
	now := time.Now()
	_ = a.stdout.SetReadDeadline(now)
	_ = a.stderr.SetReadDeadline(now)
}

// readInto moves what the pipe brings into the window, until the pipe's end.
func readInto(w *window, pipe *os.File) {
	defer closeAll(pipe)
	for {
		room := w.reserve()
		if room == nil {
			return
		}
		n, err := pipe.Read(room)
		w.commit(room[:n])
		if err != nil {
			return
		}
	}
}

func closedWithin(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// errText is what the log says of a signal that could not be sent: the system's name for it.
func errText(err error) string {
	if err == nil {
		return ""
	}
	if errors.Is(err, syscall.ESRCH) {
		return "ESRCH"
	}
	if errors.Is(err, syscall.EPERM) {
		return "EPERM"
	}
	return fmt.Sprint(err)
}
