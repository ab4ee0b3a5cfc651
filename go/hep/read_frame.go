package hep

import (
	"fmt"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	framev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/frame/v1"
)

// readFrame sets the payload of event to the frame of a HEP type. Keys are read, and so violations
// come, in the order of the catalogue.
func readFrame(event *eventv1.Event, kind string, f *fields) {
	switch kind {
	case "hep_header":
		event.Payload = &eventv1.Event_HepHeader{HepHeader: &framev1.HepHeader{
			Hep: f.text("hep"), Fah: f.text("fah"), Session: f.text("session"),
		}}
	case "agent_start":
		event.Payload = &eventv1.Event_AgentStart{AgentStart: &framev1.AgentStart{TurnId: f.turnID()}}
	case "message_start":
		event.Payload = &eventv1.Event_MessageStart{MessageStart: &framev1.MessageStart{
			TurnId: f.turnID(), Role: f.text("role"),
		}}
	case "message_delta":
		event.Payload = &eventv1.Event_MessageDelta{MessageDelta: &framev1.MessageDelta{
			TurnId: f.turnID(), Delta: f.text("delta"),
		}}
	case "tool_start":
		event.Payload = &eventv1.Event_ToolStart{ToolStart: &framev1.ToolStart{
			TurnId: f.turnID(), Id: f.text("id"), Name: f.text("name"), ArgsSummary: f.text("args_summary"),
		}}
	case "tool_delta":
		event.Payload = &eventv1.Event_ToolDelta{ToolDelta: &framev1.ToolDelta{
			TurnId: f.turnID(), Id: f.text("id"), Update: f.text("update"),
		}}
	case "tool_liveness":
		event.Payload = &eventv1.Event_ToolLiveness{ToolLiveness: &framev1.ToolLiveness{
			TurnId: f.turnID(), Id: f.text("id"), Name: f.text("name"), Action: f.text("action"),
			ElapsedMs: f.integer("elapsed_ms", true), OutputBytes: f.integer("output_bytes", false),
			Detail: f.optionalText("detail", false),
		}}
	case "turn_done":
		event.Payload = &eventv1.Event_TurnDone{TurnDone: &framev1.TurnDone{
			TurnId: f.turnID(), Message: f.text("message"), ToolResults: readToolResults(f),
			Usage: readUsage(f), StopReason: f.text("stop_reason"),
		}}
	case "turn_error":
		event.Payload = &eventv1.Event_TurnError{TurnError: &framev1.TurnError{
			TurnId: f.turnID(), Error: f.text("error"), Fatal: f.boolean("fatal"),
		}}
	case "cancelled":
		event.Payload = &eventv1.Event_Cancelled{Cancelled: &framev1.Cancelled{TurnId: f.turnID()}}
	case "compaction_start":
		event.Payload = &eventv1.Event_CompactionStart{
			CompactionStart: &framev1.CompactionStart{TurnId: f.turnID()},
		}
	case "compaction_end":
		event.Payload = &eventv1.Event_CompactionEnd{CompactionEnd: &framev1.CompactionEnd{
			TurnId: f.turnID(), TokensFreed: f.integer("tokens_freed", true),
		}}
	default:
		event.Payload = &eventv1.Event_UnknownFrame{UnknownFrame: &framev1.UnknownFrame{Type: kind}}
	}
}

// readToolResults leaves an empty result in the place of an entry that is no object.
func readToolResults(f *fields) []*framev1.ToolResult {
	array := f.value("tool_results", "array", true)
	if array == nil {
		return nil
	}
	var results []*framev1.ToolResult
	for at := skipWhitespace(array, 1); array[at] != ']'; {
		path := fmt.Sprintf("tool_results[%d]", len(results))
		end := skipValue(array, at)
		result := &framev1.ToolResult{}
		if kind := jsonKind(array[at]); kind == "object" {
			inner := f.inner(array[at:end], path+".")
			result.Id, result.Name = inner.text("id"), inner.text("name")
			result.Ok, result.Text = inner.boolean("ok"), inner.text("text")
		} else {
			f.report.wrongType(path, "object", kind)
		}
		results = append(results, result)
		if at = skipWhitespace(array, end); array[at] == ',' {
			at = skipWhitespace(array, at+1)
		}
	}
	return results
}

func readUsage(f *fields) *framev1.Usage {
	object := f.value("usage", "object", true)
	if object == nil {
		return nil
	}
	inner := f.inner(object, "usage.")
	return &framev1.Usage{
		Input: inner.integer("input", true), Output: inner.integer("output", true), Cost: inner.double("cost"),
	}
}
