// Command pipeline is what an experienced Go engineer writes by hand in an afternoon: a scanner and
// encoding/json on the agent's stdout, nats.go's asynchronous publish to JetStream, and a grpc-go server
// that streams the consumer's messages to a client. With -batch 1, the usual form, one event is one
// message all the way. With -batch 64, the tuned form, events travel together, JSON is decoded once into one
// struct instead of twice, and the stored bytes are passed on to the client as they are (see raw.go).
//
//	pipeline gateway -nats URL -listen ADDR -batch N < FILE
//	pipeline client -addr ADDR -events N
//
// It keeps the order of one writer. It has no fence against a second one, no exact lines, no resume, no
// outcome, no cancel.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hep-bridge/hep-bridge/bench/go/usage"
	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
)

const (
	stream  = "PIPELINE"
	subject = "pipeline.run"
	runID   = "0199c2f0-7a11-7000-8000-000000000001"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("gateway or client")
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	url := flags.String("nats", nats.DefaultURL, "NATS server")
	addr := flags.String("addr", "127.0.0.1:0", "address of the gateway, to listen on or to dial")
	batch := flags.Int("batch", 1, "events a message")
	events := flags.Int("events", 0, "events to wait for")
	if err := flags.Parse(os.Args[2:]); err != nil {
		log.Fatal(err)
	}
	var err error
	switch os.Args[1] {
	case "gateway":
		err = gateway(*url, *addr, *batch)
	case "client":
		err = client(*addr, *events)
	default:
		err = fmt.Errorf("no such part: %s", os.Args[1])
	}
	if err != nil {
		log.Fatal(err)
	}
}

type service struct {
	bridgev1.UnimplementedEventServiceServer
	js jetstream.JetStream
	// tuned: the stored bytes go out as they are.
	tuned bool
	// subscribed is closed when the first client is there.
	subscribed chan struct{}
	once       sync.Once
}

// Subscribe sends each message of the stream as it comes, decoded and encoded again unless tuned.
func (s *service) Subscribe(_ *bridgev1.SubscribeRequest, out grpc.ServerStreamingServer[bridgev1.SubscribeResponse]) error {
	consumer, err := s.js.OrderedConsumer(out.Context(), stream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	s.once.Do(func() { close(s.subscribed) })
	for {
		message, err := messages.Next(jetstream.NextContext(out.Context()))
		if err != nil {
			return err
		}
		if s.tuned {
			if err := out.SendMsg(rawBatch(message.Data())); err != nil {
				return err
			}
			continue
		}
		batch := &eventv1.EventBatch{}
		if err := proto.Unmarshal(message.Data(), batch); err != nil {
			return err
		}
		if err := out.Send(&bridgev1.SubscribeResponse{Batches: []*eventv1.EventBatch{batch}}); err != nil {
			return err
		}
	}
}

func gateway(url, addr string, batch int) error {
	ctx := context.Background()
	conn, err := nats.Connect(url)
	if err != nil {
		return err
	}
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(4096))
	if err != nil {
		return err
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: stream, Subjects: []string{subject}}); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{}))
	events := &service{js: js, tuned: batch > 1, subscribed: make(chan struct{})}
	bridgev1.RegisterEventServiceServer(server, events)
	go func() { log.Fatal(server.Serve(listener)) }()
	fmt.Println(listener.Addr())
	<-events.subscribed
	if err := publish(js, batch); err != nil {
		return err
	}
	select {}
}

func publish(js jetstream.JetStream, size int) error {
	lines := bufio.NewScanner(bufio.NewReaderSize(os.Stdin, 1<<20))
	lines.Buffer(make([]byte, 1<<20), 64<<20)
	batch := &eventv1.EventBatch{RunId: runID}
	flush := func() error {
		if len(batch.Events) == 0 {
			return nil
		}
		batch.ObserveTime = timestamppb.Now()
		body, err := proto.Marshal(batch)
		if err != nil {
			return err
		}
		batch.Events = batch.Events[:0]
		_, err = js.PublishAsync(subject, body)
		return err
	}
	decodeLine := decode
	if size > 1 {
		decodeLine = decodeOnce
	}
	for sequence := int64(1); lines.Scan(); sequence++ {
		event, err := decodeLine(lines.Bytes(), sequence)
		if err != nil {
			return err
		}
		batch.Events = append(batch.Events, event)
		if len(batch.Events) == size {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	<-js.PublishAsyncComplete()
	return lines.Err()
}

func client(addr string, wanted int) error {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	responses, err := bridgev1.NewEventServiceClient(conn).Subscribe(ctx, &bridgev1.SubscribeRequest{})
	if err != nil {
		return err
	}
	events, text, last := 0, 0, int64(0)
	for events < wanted {
		response, err := responses.Recv()
		if err != nil {
			return err
		}
		for _, batch := range response.GetBatches() {
			for _, event := range batch.GetEvents() {
				events++
				last = event.GetSequence()
				text += len(event.GetMessageDelta().GetDelta())
			}
		}
	}
	endMS := time.Now().UnixMilli()
	used, err := usage.Self()
	if err != nil {
		return err
	}
	result := map[string]any{"events": events, "last": last, "text": text, "end_ms": endMS,
		"cpu_seconds": used.CPUSeconds, "rss_bytes": used.RSSBytes}
	return json.NewEncoder(os.Stdout).Encode(result)
}
