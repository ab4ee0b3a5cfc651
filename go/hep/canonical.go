package hep

import (
	"cmp"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	framev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/frame/v1"
)

// CanonicalForm is the form of text that this package writes: see EventBatch.canonical_form.
const CanonicalForm = 1

// ErrNoCanonicalText says that an event's payload is no frame of the catalogue, or holds a number
// that JSON cannot write.
var ErrNoCanonicalText = errors.New("hep: payload has no canonical text")

// CanonicalText returns the line, without its line feed, that the harness would print for the event's
// frame: form 1 of docs/protocol.md. It fails with ErrNoCanonicalText.
func CanonicalText(event *eventv1.Event) ([]byte, error) { return AppendCanonicalText(nil, event) }

// AppendCanonicalText appends what CanonicalText returns. On error dst is returned as it was.
func AppendCanonicalText(dst []byte, event *eventv1.Event) ([]byte, error) {
	w := writer{b: dst}
	switch payload := event.GetPayload().(type) {
	case *eventv1.Event_HepHeader:
		w.begin("hep_header")
		w.text(`,"hep":`, payload.HepHeader.GetHep())
		w.text(`,"fah":`, payload.HepHeader.GetFah())
		w.text(`,"session":`, payload.HepHeader.GetSession())
	case *eventv1.Event_AgentStart:
		w.beginTurn("agent_start", payload.AgentStart.GetTurnId())
	case *eventv1.Event_MessageStart:
		w.beginTurn("message_start", payload.MessageStart.GetTurnId())
		w.text(`,"role":`, payload.MessageStart.GetRole())
	case *eventv1.Event_MessageDelta:
		w.beginTurn("message_delta", payload.MessageDelta.GetTurnId())
		w.text(`,"delta":`, payload.MessageDelta.GetDelta())
	case *eventv1.Event_ToolStart:
		w.beginTurn("tool_start", payload.ToolStart.GetTurnId())
		w.text(`,"id":`, payload.ToolStart.GetId())
		w.text(`,"name":`, payload.ToolStart.GetName())
		w.text(`,"args_summary":`, payload.ToolStart.GetArgsSummary())
	case *eventv1.Event_ToolDelta:
		w.beginTurn("tool_delta", payload.ToolDelta.GetTurnId())
		w.text(`,"id":`, payload.ToolDelta.GetId())
		w.text(`,"update":`, payload.ToolDelta.GetUpdate())
	case *eventv1.Event_ToolLiveness:
		w.toolLiveness(cmp.Or(payload.ToolLiveness, &framev1.ToolLiveness{}))
	case *eventv1.Event_TurnDone:
		if cost := payload.TurnDone.GetUsage().GetCost(); math.IsNaN(cost) || math.IsInf(cost, 0) {
			return dst, ErrNoCanonicalText
		}
		w.turnDone(cmp.Or(payload.TurnDone, &framev1.TurnDone{}))
	case *eventv1.Event_TurnError:
		w.beginTurn("turn_error", payload.TurnError.GetTurnId())
		w.text(`,"error":`, payload.TurnError.GetError())
		w.boolean(`,"fatal":`, payload.TurnError.GetFatal())
	case *eventv1.Event_Cancelled:
		w.beginTurn("cancelled", payload.Cancelled.GetTurnId())
	case *eventv1.Event_CompactionStart:
		w.beginTurn("compaction_start", payload.CompactionStart.GetTurnId())
	case *eventv1.Event_CompactionEnd:
		w.beginTurn("compaction_end", payload.CompactionEnd.GetTurnId())
		frame := cmp.Or(payload.CompactionEnd, &framev1.CompactionEnd{})
		w.optional(`,"tokens_freed":`, frame.TokensFreed)
	default:
		return dst, ErrNoCanonicalText
	}
	return append(w.b, '}'), nil
}

// writer writes members of a JSON object; each key brings the comma before it.
type writer struct{ b []byte }

func (w *writer) raw(text string) { w.b = append(w.b, text...) }

func (w *writer) begin(kind string) {
	w.raw(`{"type":"`)
	w.raw(kind)
	w.raw(`"`)
}

func (w *writer) beginTurn(kind string, turnID int64) {
	w.begin(kind)
	w.integer(`,"turn_id":`, turnID)
}

func (w *writer) integer(key string, value int64) {
	w.raw(key)
	w.b = strconv.AppendInt(w.b, value, 10)
}

func (w *writer) optional(key string, value *int64) {
	if value != nil {
		w.integer(key, *value)
	}
}

func (w *writer) boolean(key string, value bool) {
	w.raw(key)
	w.b = strconv.AppendBool(w.b, value)
}

func (w *writer) text(key, text string) {
	w.raw(key)
	w.b = appendQuoted(w.b, text)
}

func (w *writer) toolLiveness(frame *framev1.ToolLiveness) {
	w.beginTurn("tool_liveness", frame.GetTurnId())
	w.text(`,"id":`, frame.GetId())
	w.text(`,"name":`, frame.GetName())
	w.text(`,"action":`, frame.GetAction())
	w.optional(`,"elapsed_ms":`, frame.ElapsedMs)
	w.optional(`,"output_bytes":`, frame.OutputBytes)
	if frame.Detail != nil {
		w.text(`,"detail":`, *frame.Detail)
	}
}

func (w *writer) turnDone(frame *framev1.TurnDone) {
	w.beginTurn("turn_done", frame.GetTurnId())
	w.text(`,"message":`, frame.GetMessage())
	w.raw(`,"tool_results":[`)
	for i, result := range frame.GetToolResults() {
		if i > 0 {
			w.raw(",")
		}
		w.text(`{"id":`, result.GetId())
		w.text(`,"name":`, result.GetName())
		w.boolean(`,"ok":`, result.GetOk())
		w.text(`,"text":`, result.GetText())
		w.raw("}")
	}
	w.raw("]")
	if frame.Usage != nil {
		w.usage(frame.Usage)
	}
	w.text(`,"stop_reason":`, frame.GetStopReason())
}

func (w *writer) usage(usage *framev1.Usage) {
	w.raw(`,"usage":{`)
	start := len(w.b)
	w.optional(`,"input":`, usage.Input)
	w.optional(`,"output":`, usage.Output)
	if usage.Cost != nil {
		w.raw(`,"cost":`)
		w.b = appendDartDouble(w.b, *usage.Cost)
	}
	if len(w.b) > start { // the first member has no comma
		w.b = append(w.b[:start], w.b[start+1:]...)
	}
	w.raw("}")
}

const hexDigits = "0123456789abcdef"

// appendQuoted writes text as Dart's jsonEncode and JavaScript's JSON.stringify do; encoding/json
// escapes more. Text that is not well-formed UTF-8 is written with U+FFFD.
func appendQuoted(dst []byte, text string) []byte {
	dst = append(dst, '"')
	start := 0
	for at := 0; at < len(text); {
		c := text[at]
		if c >= utf8.RuneSelf {
			if r, size := utf8.DecodeRuneInString(text[at:]); r != utf8.RuneError || size > 1 {
				at += size
				continue
			}
			dst = append(dst, text[start:at]...)
			dst = utf8.AppendRune(dst, replacement)
			at++
			start = at
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			at++
			continue
		}
		dst = append(dst, text[start:at]...)
		dst = appendEscape(dst, c)
		at++
		start = at
	}
	dst = append(dst, text[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
