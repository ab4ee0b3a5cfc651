package hepbridge_test

import (
	"context"
	"fmt"
	"time"

	"github.com/hep-bridge/hep-bridge/go/hepbridge"
)

// A run with limits: the bridge cancels it where it reaches one, and its result says which.
func ExampleClient_StartRun_policies() {
	answer := func(ctx context.Context, client *hepbridge.Client) (string, error) {
		run, err := client.StartRun(ctx, hepbridge.StartOptions{
			Profile:  "fa",
			Prompt:   "fix the tests",
			Deadline: time.Hour,
			Policies: hepbridge.Policies{Stall: 10 * time.Minute, MaxTokens: 500_000},
		})
		if err != nil {
			return "", err
		}
		result, err := run.Wait(ctx)
		if err != nil {
			return "", err
		}
		if !result.Completed() {
			return "", fmt.Errorf("%v, cancelled for %v: %s", result.Outcome, result.CancelCause, result.Detail)
		}
		return result.Answer, nil
	}
	_ = answer
}

// A cancel that waits for the end, at most so long.
func ExampleRun_Cancel() {
	end := func(ctx context.Context, run *hepbridge.Run) error {
		answer, err := run.Cancel(ctx, "tab closed", hepbridge.Graces(5*time.Second, time.Second), hepbridge.AwaitEnd(10*time.Second))
		if err != nil {
			return err
		}
		fmt.Println(answer.Run.State, answer.Run.Outcome)
		return nil
	}
	_ = end
}
