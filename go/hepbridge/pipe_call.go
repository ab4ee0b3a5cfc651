package hepbridge

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
)

// ingestCall is one open Ingest call.
type ingestCall struct {
	stream grpc.BidiStreamingClient[bridgev1.IngestRequest, bridgev1.IngestResponse]
	leave  context.CancelFunc
	// Where the next bytes are sent from.
	stdoutSent, stderrSent int64
	chunkBytes             int
	reports                int
	exitSent               bool
	// useful: the bridge acknowledged something.
	useful bool
}

// open makes a call and waits for its `opened`, at most as long as opening lives.
func (p *PipedRun) open(opening context.Context) (*ingestCall, error) {
	ctx, leave := context.WithCancel(p.lifetime)
	defer context.AfterFunc(opening, leave)()
	stream, err := p.client.ingest.Ingest(ctx)
	if err != nil {
		leave()
		return nil, err
	}
	open := &bridgev1.IngestOpen{
		RunId: p.id, Labels: p.options.Labels, PartitionKey: p.options.PartitionKey, Strict: p.options.Strict,
		Deadline: unlessZero(p.options.Deadline), Policies: p.options.Policies.message(),
	}
	// If it fails, Recv has the reason.
	_ = stream.Send(&bridgev1.IngestRequest{Message: &bridgev1.IngestRequest_Open{Open: open}})
	answer, err := stream.Recv()
	opened := answer.GetOpened()
	if err == nil && opened == nil {
		err = errors.New("the first answer of Ingest is not `opened`")
	}
	if err != nil {
		leave()
		return nil, err
	}
	call := &ingestCall{
		stream: stream, leave: leave, stdoutSent: opened.StdoutOffset, stderrSent: opened.StderrOffset, chunkBytes: 64 << 10,
	}
	if opened.MaxChunkBytes > 0 {
		call.chunkBytes = int(opened.MaxChunkBytes)
	}
	return call, nil
}

// sendNext sends one round of what is there: signals, then a chunk of each pipe, at last the exit.
// False if there was nothing. io.EOF means that the call is over.
func (p *PipedRun) sendNext(call *ingestCall) (bool, error) {
	// Looked up before the pipes: what is in these afterwards is all there will be.
	p.mu.Lock()
	exit := p.exit
	p.mu.Unlock()
	if report := p.cancels.report(call.reports); report != nil {
		call.reports++
		return true, call.stream.Send(&bridgev1.IngestRequest{Message: &bridgev1.IngestRequest_Signalled{Signalled: report}})
	}
	stdout, err := p.stdout.at(call.stdoutSent, call.chunkBytes)
	if err != nil {
		return false, err
	}
	stderr, err := p.stderr.at(call.stderrSent, call.chunkBytes)
	if err != nil {
		return false, err
	}
	if len(stdout) > 0 {
		chunk := &bridgev1.IngestChunk{Offset: call.stdoutSent, Data: stdout}
		call.stdoutSent += int64(len(stdout))
		if err := call.stream.Send(&bridgev1.IngestRequest{Message: &bridgev1.IngestRequest_Stdout{Stdout: chunk}}); err != nil {
			return false, err
		}
	}
	if len(stderr) > 0 {
		chunk := &bridgev1.IngestChunk{Offset: call.stderrSent, Data: stderr}
		call.stderrSent += int64(len(stderr))
		if err := call.stream.Send(&bridgev1.IngestRequest{Message: &bridgev1.IngestRequest_Stderr{Stderr: chunk}}); err != nil {
			return false, err
		}
	}
	if len(stdout)+len(stderr) > 0 {
		return true, nil
	}
	return p.sendExit(call, exit)
}

// sendExit sends the last message, once all others were sent.
func (p *PipedRun) sendExit(call *ingestCall, exit *bridgev1.IngestExit) (bool, error) {
	if exit == nil || call.exitSent || !p.cancels.told(call.reports) {
		return false, nil
	}
	call.exitSent = true
	if err := call.stream.Send(&bridgev1.IngestRequest{Message: &bridgev1.IngestRequest_Exit{Exit: exit}}); err != nil {
		return false, err
	}
	return false, call.stream.CloseSend()
}
