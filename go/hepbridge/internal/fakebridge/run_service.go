package fakebridge

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
)

// StartRun makes a run of the profile "echo".
func (b *Bridge) StartRun(_ context.Context, request *bridgev1.StartRunRequest) (*bridgev1.StartRunResponse, error) {
	if err := b.enter("StartRun", request); err != nil {
		return nil, err
	}
	if request.Profile != "echo" {
		return nil, Error(codes.NotFound, "PROFILE_NOT_FOUND", "no profile "+request.Profile)
	}
	var answer *bridgev1.StartRunResponse
	var err error
	b.Do(func() {
		known, existed := b.runs[request.RunId]
		if existed && !proto.Equal(known.Request, request) {
			err = Error(codes.AlreadyExists, "RUN_EXISTS", "run "+request.RunId+" was started otherwise")
			return
		}
		run := b.Run(request.RunId)
		run.Request = request
		answer = &bridgev1.StartRunResponse{Run: proto.CloneOf(run.Record), Existed: existed}
	})
	return answer, err
}

// GetRun gives the record.
func (b *Bridge) GetRun(_ context.Context, request *bridgev1.GetRunRequest) (*bridgev1.GetRunResponse, error) {
	if err := b.enter("GetRun", request); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	run, ok := b.runs[request.RunId]
	if !ok {
		return nil, Error(codes.NotFound, "RUN_NOT_FOUND", "no run "+request.RunId)
	}
	return &bridgev1.GetRunResponse{Run: proto.CloneOf(run.Record)}, nil
}

// ListRuns gives pages of two.
func (b *Bridge) ListRuns(_ context.Context, request *bridgev1.ListRunsRequest) (*bridgev1.ListRunsResponse, error) {
	if err := b.enter("ListRuns", request); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	answer := &bridgev1.ListRunsResponse{}
	skip := len(request.PageToken)
	for i := len(b.order) - 1 - skip; i >= 0 && len(answer.Runs) < 2; i-- {
		answer.Runs = append(answer.Runs, proto.CloneOf(b.runs[b.order[i]].Record))
	}
	if skip+len(answer.Runs) < len(b.order) {
		answer.NextPageToken = request.PageToken + "xx"
	}
	return answer, nil
}

// CancelRun stores the request, which an Ingest call of the run then brings to its client, and waits
// for the run's end as asked.
func (b *Bridge) CancelRun(ctx context.Context, request *bridgev1.CancelRunRequest) (*bridgev1.CancelRunResponse, error) {
	if err := b.enter("CancelRun", request); err != nil {
		return nil, err
	}
	answer := &bridgev1.CancelRunResponse{}
	b.Do(func() {
		run := b.Run(request.RunId)
		run.Requests = append(run.Requests, request)
		run.Record.CancelRequested = true
		answer.RequestedSequence = int64(len(run.Requests))
	})
	waiting, stop := context.WithTimeout(ctx, request.Wait.AsDuration())
	defer stop()
	b.await(waiting, func() bool { return b.Run(request.RunId).Record.State == bridgev1.Run_STATE_FINISHED })
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	b.Do(func() { answer.Run = proto.CloneOf(b.Run(request.RunId).Record) })
	return answer, nil
}
