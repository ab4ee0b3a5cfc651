package fakebridge

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
)

// maxChunk is small, so that streams take many chunks.
const maxChunk = 8 << 10

// beyondAll is where a finished run wants bytes from.
const beyondAll = 1<<53 - 1

// Ingest keeps the bytes, acknowledges whole lines, brings cancels, and ends the run with its exit.
func (b *Bridge) Ingest(stream grpc.BidiStreamingServer[bridgev1.IngestRequest, bridgev1.IngestResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	id := first.GetOpen().GetRunId()
	if err := b.enter("Ingest", first.GetOpen()); err != nil {
		return err
	}
	opened, attempt := &bridgev1.IngestOpened{MaxChunkBytes: maxChunk, ReconnectWindow: durationpb.New(time.Minute)}, 0
	b.Do(func() {
		run := b.Run(id)
		run.Opens++
		run.attempt++
		attempt = run.attempt
		// A restarted bridge knows what is committed: whole lines.
		if run.Exit == nil {
			run.Stdout = run.Stdout[:committed(run.Stdout)]
		}
		opened.StdoutOffset, opened.StderrOffset = int64(len(run.Stdout)), int64(len(run.Stderr))
		if run.Exit != nil {
			opened.StdoutOffset, opened.StderrOffset = beyondAll, beyondAll
		}
	})
	if err := stream.Send(&bridgev1.IngestResponse{Message: &bridgev1.IngestResponse_Opened{Opened: opened}}); err != nil {
		return err
	}
	taken := make(chan error, 1)
	go func() { taken <- b.take(id, attempt, stream) }()
	cancels := 0
	for acked := -1; ; {
		b.mu.Lock()
		run, changed := b.runs[id], b.changed
		var answers []*bridgev1.IngestResponse
		if n := committed(run.Stdout) + len(run.Stderr); n != acked && !b.HoldAcks {
			acked = n
			ack := &bridgev1.IngestAck{StdoutOffset: int64(committed(run.Stdout)), StderrOffset: int64(len(run.Stderr)), Sequence: 1}
			answers = append(answers, &bridgev1.IngestResponse{Message: &bridgev1.IngestResponse_Ack{Ack: ack}})
		}
		for ; cancels < len(run.Requests); cancels++ {
			request := run.Requests[cancels]
			cancel := &bridgev1.IngestCancel{
				RequestId: request.RequestId, InterruptGrace: request.InterruptGrace, TerminateGrace: request.TerminateGrace,
			}
			if request.Force {
				cancel.InterruptGrace = &durationpb.Duration{}
			}
			answers = append(answers, &bridgev1.IngestResponse{Message: &bridgev1.IngestResponse_Cancel{Cancel: cancel}})
		}
		finished := run.Exit != nil && !(b.CutAtExit && attempt == 1)
		if finished {
			run.Record.State = bridgev1.Run_STATE_FINISHED
			record := proto.CloneOf(run.Record)
			answers = append(answers, &bridgev1.IngestResponse{Message: &bridgev1.IngestResponse_Finished{Finished: &bridgev1.IngestFinished{Run: record}}})
		}
		b.mu.Unlock()
		for _, answer := range answers {
			if err := stream.Send(answer); err != nil {
				return err
			}
		}
		if finished {
			return nil
		}
		select {
		case err := <-taken:
			if err != nil {
				return err
			}
			taken = nil
		case <-changed:
		}
	}
}

func committed(stdout []byte) int { return bytes.LastIndexByte(stdout, '\n') + 1 }

// take handles one call's requests; a later call of the run ends it.
func (b *Bridge) take(id string, attempt int, stream grpc.BidiStreamingServer[bridgev1.IngestRequest, bridgev1.IngestResponse]) error {
	received := 0
	for {
		if !b.await(stream.Context(), func() bool { return !b.HoldAcks }) {
			return stream.Context().Err()
		}
		request, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		b.Do(func() {
			run := b.runs[id]
			if run.attempt != attempt {
				err = Error(codes.Aborted, "INGEST_TAKEN_OVER", "a later call took over")
				return
			}
			switch message := request.Message.(type) {
			case *bridgev1.IngestRequest_Stdout:
				received += len(message.Stdout.Data)
				run.Stdout, err = appended(run.Stdout, message.Stdout)
			case *bridgev1.IngestRequest_Stderr:
				received += len(message.Stderr.Data)
				run.Stderr, err = appended(run.Stderr, message.Stderr)
			case *bridgev1.IngestRequest_Signalled:
				run.Signals = append(run.Signals, message.Signalled)
			case *bridgev1.IngestRequest_Exit:
				if err = b.end(run, message.Exit); err == nil && b.CutAtExit {
					err = Error(codes.Unavailable, "LOG_UNAVAILABLE", "cut by the test")
				}
			}
			if err == nil && b.CutIngestAfter > 0 && received >= b.CutIngestAfter {
				err = Error(codes.Unavailable, "LOG_UNAVAILABLE", "cut by the test")
			}
		})
		if err != nil {
			return err
		}
	}
}

func (b *Bridge) end(run *Run, exit *bridgev1.IngestExit) error {
	if exit.SpawnError == "" && (exit.StdoutBytes != int64(len(run.Stdout)) || exit.StderrBytes != int64(len(run.Stderr))) {
		return Error(codes.OutOfRange, "INGEST_GAP", "exit before the last byte")
	}
	run.Exit = exit
	run.Record.LastSequence = 1
	run.Batches = append(run.Batches, &eventv1.EventBatch{
		RunId: run.Record.RunId, Class: eventv1.EventClass_EVENT_CLASS_STEP,
		Events: []*eventv1.Event{{Sequence: 1, Payload: &eventv1.Event_RunFinished{RunFinished: &eventv1.RunFinished{
			ExitCode: exit.ExitCode, Signal: exit.Signal, Detail: exit.SpawnError,
		}}}},
	})
	return nil
}

func appended(have []byte, chunk *bridgev1.IngestChunk) ([]byte, error) {
	if len(chunk.Data) > maxChunk {
		return have, Error(codes.InvalidArgument, "INVALID_REQUEST", "chunk too big")
	}
	skip := int64(len(have)) - chunk.Offset
	if skip < 0 {
		return have, Error(codes.OutOfRange, "INGEST_GAP", fmt.Sprintf("chunk at %d, but %d bytes are here", chunk.Offset, len(have)))
	}
	return append(have, chunk.Data[min(skip, int64(len(chunk.Data))):]...), nil
}
