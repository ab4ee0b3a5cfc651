//go:build unix

package hepbridge

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// canPipe says that Pipe works on this system.
const canPipe = true

// leadGroup makes the command the leader of its own process group, so that a Ctrl-C on this
// program's terminal does not reach it as well.
func leadGroup(command *exec.Cmd) {
	attributes := syscall.SysProcAttr{}
	if command.SysProcAttr != nil {
		attributes = *command.SysProcAttr
	}
	if !attributes.Setsid {
		attributes.Setpgid, attributes.Pgid = true, 0
	}
	command.SysProcAttr = &attributes
}

func kill(pid int, signal syscall.Signal, group bool) error {
	if group {
		pid = -pid
	}
	return syscall.Kill(pid, signal)
}

// endOf tells exit code and signal apart; code is -1 if there was a signal.
func endOf(state *os.ProcessState) (code int, signal string) {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -1, unix.SignalName(status.Signal())
	}
	return state.ExitCode(), ""
}
