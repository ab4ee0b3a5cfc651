package hepbridge

import (
	"errors"

	"golang.org/x/sys/unix"
)

// awaitExit returns when the process has ended, without reaping it: until then its number, and its
// group's, cannot be another's. False if the system does not tell.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
