package hepbridge

import (
	"context"
	"iter"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
)

// Run is a handle on one run; it holds no resources. All methods may be used from several
// goroutines at once.
type Run struct {
	client *Client
	id     string
}

// Run gives the handle of a run by its id. It asks nobody: an unknown id shows as ErrRunNotFound of
// the first call.
func (c *Client) Run(id string) *Run { return &Run{client: c, id: id} }

// ID is the run's UUIDv7.
func (r *Run) ID() string { return r.id }

// StartOptions says what to start.
type StartOptions struct {
	// Profile names a profile of the bridge's configuration; required.
	Profile string
	// Prompt reaches the agent in a file, never on its command line.
	Prompt string
	// Labels to find the run by: at most 16, keys [a-z0-9._-]{1,63}, values up to 256 bytes.
	Labels map[string]string
	// PartitionKey, e.g. a conversation id: workers see its runs in order. Empty = the run's id.
	PartitionKey string
	// Parameters that the profile names.
	Parameters map[string]string
	// Session of the harness to go on with or to make; only for a profile that takes one.
	Session string
	// OutputMode is how much the agent tells; 0 = as the profile says.
	OutputMode OutputMode
	// Deadline of the whole run, after which it is cancelled; 0 = the profile's.
	Deadline time.Duration
	// Policies are further limits; of each the stricter of this and the profile's holds.
	Policies Policies
	// RunID, a UUIDv7; empty = minted here. The same id and the same options give the same run.
	RunID string
}

// OutputMode is how much an agent tells of its tool calls.
type OutputMode int

const (
	// OutputEvents brings the arguments of tools in short.
	OutputEvents = OutputMode(bridgev1.OutputMode_OUTPUT_MODE_EVENTS)
	// OutputEventsFull brings the arguments of tools as JSON.
	OutputEventsFull = OutputMode(bridgev1.OutputMode_OUTPUT_MODE_EVENTS_FULL)
)

// StartRun starts a run. While the bridge is unavailable it tries again with the same id, so that
// there is one run at most. Fails with ErrProfileNotFound, ErrRunExists (the id was used with other
// options), ErrInvalidRequest, ErrLimitReached, ErrUnavailable.
func (c *Client) StartRun(ctx context.Context, options StartOptions) (*Run, error) {
	request := &bridgev1.StartRunRequest{
		RunId:        options.RunID,
		Profile:      options.Profile,
		Prompt:       options.Prompt,
		Labels:       options.Labels,
		PartitionKey: options.PartitionKey,
		Parameters:   options.Parameters,
		Session:      options.Session,
		OutputMode:   bridgev1.OutputMode(options.OutputMode),
		Policies:     options.Policies.message(),
		Deadline:     unlessZero(options.Deadline),
	}
	if request.RunId == "" {
		request.RunId = NewRunID()
	}
	_, err := retried(ctx, c, "start run", func(ctx context.Context) (*bridgev1.StartRunResponse, error) {
		return c.runs.StartRun(ctx, request)
	})
	if err != nil {
		return nil, err
	}
	return c.Run(request.RunId), nil
}

// Get reads the run's record as it is now. Fails with ErrRunNotFound, ErrUnavailable.
func (r *Run) Get(ctx context.Context) (*bridgev1.Run, error) {
	answer, err := retried(ctx, r.client, "get run", func(ctx context.Context) (*bridgev1.GetRunResponse, error) {
		return r.client.runs.GetRun(ctx, &bridgev1.GetRunRequest{RunId: r.id})
	})
	return answer.GetRun(), err
}

// ListOptions selects runs; all that is set must match.
type ListOptions struct {
	// Labels with their exact values.
	Labels map[string]string
	// States, any of them; empty = all.
	States []bridgev1.Run_State
	// CreatedFrom is inclusive, CreatedUntil exclusive; zero = no bound.
	CreatedFrom, CreatedUntil time.Time
	// PageSize is how many records one call fetches; 0 = 100, at most 1000.
	PageSize int
}

// List yields the records of runs, newest first, and fetches pages as they are needed. An error is
// the last thing that it yields.
func (c *Client) List(ctx context.Context, options ListOptions) iter.Seq2[*bridgev1.Run, error] {
	return func(yield func(*bridgev1.Run, error) bool) {
		request := &bridgev1.ListRunsRequest{
			PageSize: int32(options.PageSize),
			Labels:   options.Labels,
			States:   options.States,
		}
		if !options.CreatedFrom.IsZero() {
			request.CreatedFrom = timestamppb.New(options.CreatedFrom)
		}
		if !options.CreatedUntil.IsZero() {
			request.CreatedUntil = timestamppb.New(options.CreatedUntil)
		}
		for {
			page, err := retried(ctx, c, "list runs", func(ctx context.Context) (*bridgev1.ListRunsResponse, error) {
				return c.runs.ListRuns(ctx, request)
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, run := range page.Runs {
				if !yield(run, nil) {
					return
				}
			}
			if page.NextPageToken == "" {
				return
			}
			request.PageToken = page.NextPageToken
		}
	}
}
