package main

import (
	"encoding/json"
	"fmt"

	"github.com/hep-bridge/hep-bridge/bench/go/frame"
	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	framev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/frame/v1"
)

// decode is the usual form: the type first, then the type's struct, then the message.
func decode(line []byte, sequence int64) (*eventv1.Event, error) {
	decoded, err := frame.Decode(line)
	if err != nil {
		return nil, err
	}
	return toEvent(decoded, sequence), nil
}

// decodeOnce is the tuned form: one struct for all types.
func decodeOnce(line []byte, sequence int64) (*eventv1.Event, error) {
	var f frame.Any
	if err := json.Unmarshal(line, &f); err != nil {
		return nil, err
	}
	switch f.Type {
	case "hep_header":
		return toEvent(&frame.Header{Hep: f.Hep, Fah: f.Fah, Session: f.Session}, sequence), nil
	case "agent_start":
		return toEvent(&frame.AgentStart{TurnID: f.TurnID}, sequence), nil
	case "message_delta":
		delta := &framev1.MessageDelta{TurnId: f.TurnID, Delta: f.Delta}
		return &eventv1.Event{Sequence: sequence, Payload: &eventv1.Event_MessageDelta{MessageDelta: delta}}, nil
	case "tool_start":
		return toEvent(&frame.ToolStart{TurnID: f.TurnID, ID: f.ID, Name: f.Name, ArgsSummary: f.ArgsSummary}, sequence), nil
	case "tool_delta":
		return toEvent(&frame.ToolDelta{TurnID: f.TurnID, ID: f.ID, Update: f.Update}, sequence), nil
	case "turn_done":
		return toEvent(&frame.TurnDone{
			TurnID: f.TurnID, Message: f.Message, ToolResults: f.ToolResults, Usage: f.Usage, StopReason: f.StopReason,
		}, sequence), nil
	default:
		return nil, fmt.Errorf("unknown type %q", f.Type)
	}
}

func toEvent(decoded any, sequence int64) *eventv1.Event {
	event := &eventv1.Event{Sequence: sequence}
	switch f := decoded.(type) {
	case *frame.Header:
		event.Payload = &eventv1.Event_HepHeader{HepHeader: &framev1.HepHeader{Hep: f.Hep, Fah: f.Fah, Session: f.Session}}
	case *frame.AgentStart:
		event.Payload = &eventv1.Event_AgentStart{AgentStart: &framev1.AgentStart{TurnId: f.TurnID}}
	case *frame.MessageDelta:
		event.Payload = &eventv1.Event_MessageDelta{MessageDelta: &framev1.MessageDelta{TurnId: f.TurnID, Delta: f.Delta}}
	case *frame.ToolStart:
		event.Payload = &eventv1.Event_ToolStart{ToolStart: &framev1.ToolStart{TurnId: f.TurnID, Id: f.ID, Name: f.Name, ArgsSummary: f.ArgsSummary}}
	case *frame.ToolDelta:
		event.Payload = &eventv1.Event_ToolDelta{ToolDelta: &framev1.ToolDelta{TurnId: f.TurnID, Id: f.ID, Update: f.Update}}
	case *frame.TurnDone:
		done := &framev1.TurnDone{TurnId: f.TurnID, Message: f.Message, StopReason: f.StopReason}
		done.Usage = &framev1.Usage{Input: &f.Usage.Input, Output: &f.Usage.Output, Cost: &f.Usage.Cost}
		for _, r := range f.ToolResults {
			done.ToolResults = append(done.ToolResults, &framev1.ToolResult{Id: r.ID, Name: r.Name, Ok: r.OK, Text: r.Text})
		}
		event.Payload = &eventv1.Event_TurnDone{TurnDone: done}
	}
	return event
}
