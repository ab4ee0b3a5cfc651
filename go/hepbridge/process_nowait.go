//go:build !linux

package hepbridge

// awaitExit: see process_linux.go. Other systems have no call for it in golang.org/x/sys.
func awaitExit(int) bool { return false }
