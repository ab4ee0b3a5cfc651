//go:build !unix

package hepbridge

import (
	"os"
	"os/exec"
	"syscall"
)

// canPipe says that Pipe works on this system. It needs process groups and signals.
const canPipe = false

func leadGroup(*exec.Cmd) {}

func kill(int, syscall.Signal, bool) error { return syscall.ENOSYS }

func endOf(state *os.ProcessState) (code int, signal string) { return state.ExitCode(), "" }
