// Package usage says what this process has taken so far, as the kernel counted it.
package usage

import (
	"syscall"
	"time"
)

// Usage goes into the JSON that a program of the benchmark prints when it ends.
type Usage struct {
	CPUSeconds float64 `json:"cpu_seconds"`
	// RSSBytes is the highest resident size.
	RSSBytes int64 `json:"rss_bytes"`
}

// Self is the usage of this process with all its threads.
func Self() (Usage, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return Usage{}, err
	}
	cpu := time.Duration(r.Utime.Nano() + r.Stime.Nano())
	return Usage{CPUSeconds: cpu.Seconds(), RSSBytes: r.Maxrss << 10}, nil
}
