package hepbridge_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge"
)

var someLimits = hepbridge.Policies{
	Stall: 5 * time.Minute, HeaderWithin: 20 * time.Second, MaxTokens: 200_000, MaxCost: 1.5, MaxEvents: 1000, MaxStdoutBytes: 1 << 20,
}

var someLimitsSent = &bridgev1.RunPolicies{
	Stall: &durationpb.Duration{Seconds: 300}, HeaderWithin: &durationpb.Duration{Seconds: 20},
	MaxTokens: 200_000, MaxCost: 1.5, MaxEvents: 1000, MaxStdoutBytes: 1 << 20,
}

func TestStartRunSendsSessionOutputModeAndPolicies(t *testing.T) {
	bridge, client := connect(t)
	ctx := within(t, 10*time.Second)
	for _, options := range []hepbridge.StartOptions{
		{Profile: "echo", Session: "s1", OutputMode: hepbridge.OutputEventsFull, Policies: someLimits},
		{Profile: "echo"},
	} {
		if _, err := client.StartRun(ctx, options); err != nil {
			t.Fatal(err)
		}
	}
	requests := bridge.Requests("StartRun")
	full, plain := requests[0].(*bridgev1.StartRunRequest), requests[1].(*bridgev1.StartRunRequest)
	if full.Session != "s1" || full.OutputMode != bridgev1.OutputMode_OUTPUT_MODE_EVENTS_FULL || !proto.Equal(full.Policies, someLimitsSent) {
		t.Errorf("asked %v", full)
	}
	if want := (&bridgev1.StartRunRequest{RunId: plain.RunId, Profile: "echo"}); !proto.Equal(plain, want) {
		t.Errorf("asked %v", plain)
	}
}
