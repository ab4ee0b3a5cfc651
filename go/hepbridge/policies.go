package hepbridge

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
)

// Policies are limits of one run; 0 = off. The bridge cancels a run that reaches one, with a cause of
// its own in Result.CancelCause.
type Policies struct {
	// Stall is how long the agent may print no frame: cause STALLED. Agents may be silent for minutes.
	Stall time.Duration
	// HeaderWithin is how soon after the start the hep_header must come: cause NO_HEADER.
	HeaderWithin time.Duration
	// MaxTokens bounds input and output tokens, as turn_done reports them: cause BUDGET.
	MaxTokens int64
	// MaxCost bounds the cost that turn_done reports, in its currency: cause BUDGET.
	MaxCost float64
	// MaxEvents and MaxStdoutBytes bound what the run writes: cause SIZE.
	MaxEvents, MaxStdoutBytes int64
}

// message is nil if no limit is set.
func (p Policies) message() *bridgev1.RunPolicies {
	if p == (Policies{}) {
		return nil
	}
	return &bridgev1.RunPolicies{
		Stall: unlessZero(p.Stall), HeaderWithin: unlessZero(p.HeaderWithin),
		MaxTokens: p.MaxTokens, MaxCost: p.MaxCost, MaxEvents: p.MaxEvents, MaxStdoutBytes: p.MaxStdoutBytes,
	}
}

func unlessZero(value time.Duration) *durationpb.Duration {
	if value == 0 {
		return nil
	}
	return durationpb.New(value)
}
