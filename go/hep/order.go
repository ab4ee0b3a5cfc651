package hep

import (
	"fmt"
	"strings"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
)

// CheckHeader judges the first frame of a stream: OUTCOME_REASON_UNSPECIFIED if it is a header of HEP
// major version 1, else the reason to refuse the stream.
func CheckHeader(first *eventv1.Event) eventv1.OutcomeReason {
	payload, ok := first.GetPayload().(*eventv1.Event_HepHeader)
	if !ok {
		return eventv1.OutcomeReason_OUTCOME_REASON_HEADER_MISSING
	}
	minor, ok := strings.CutPrefix(payload.HepHeader.GetHep(), "v1")
	if ok && (minor == "" || isMinor(minor)) {
		return eventv1.OutcomeReason_OUTCOME_REASON_UNSPECIFIED
	}
	return eventv1.OutcomeReason_OUTCOME_REASON_HEADER_UNSUPPORTED
}

// isMinor reports whether text is a point and digits.
func isMinor(text string) bool {
	if len(text) < 2 || text[0] != '.' {
		return false
	}
	for i := 1; i < len(text); i++ {
		if !isDigit(text[i]) {
			return false
		}
	}
	return true
}

// OrderRules judges the order of one stream's frames. The zero value is for a stream that has not
// begun. What HEP allows is not flagged: rounds after terminals, gaps in turn ids, several
// message_start, a compaction without end, unknown frames.
type OrderRules struct {
	headerSeen     bool
	agentStartSeen bool
	highestTurn    int64
	closedTurn     int64
}

// Check takes in the next event and returns the first rule that its frame breaks, nil if none. Events
// that are no frames are passed over. Whether a turn_id was there is read from the event's own
// violations of the field.
func (r *OrderRules) Check(event *eventv1.Event) *eventv1.ProtocolViolation {
	kind, turnID := frameKind(event)
	hasTurn := kind != "" && kind != "hep_header" && !lacksTurnID(event)
	violation := r.brokenRule(kind, turnID, hasTurn)
	switch kind {
	case "":
		return nil
	case "hep_header":
		r.headerSeen = true
	case "agent_start":
		r.agentStartSeen = true
	}
	if hasTurn {
		r.highestTurn = max(r.highestTurn, turnID)
		if kind == "turn_done" || kind == "turn_error" || kind == "cancelled" {
			r.closedTurn = max(r.closedTurn, turnID)
		}
	}
	return violation
}

func (r *OrderRules) brokenRule(kind string, turnID int64, hasTurn bool) *eventv1.ProtocolViolation {
	switch {
	case kind == "hep_header" && r.headerSeen, kind == "agent_start" && r.agentStartSeen:
		return outOfOrder("", "second "+kind)
	case !hasTurn:
		return nil
	case turnID < r.highestTurn:
		return outOfOrder("turn_id", fmt.Sprintf("turn_id %d after %d", turnID, r.highestTurn))
	case turnID > 0 && turnID <= r.closedTurn && kind != "compaction_end":
		return outOfOrder("turn_id", fmt.Sprintf("%s after turn %d ended", kind, turnID))
	}
	return nil
}

func outOfOrder(field, detail string) *eventv1.ProtocolViolation {
	return &eventv1.ProtocolViolation{
		Rule: eventv1.ProtocolViolation_RULE_ORDER, Field: field, Detail: detail,
	}
}

// lacksTurnID reports whether the frame's turn_id was absent or did not fit.
func lacksTurnID(event *eventv1.Event) bool {
	for _, violation := range event.GetViolations() {
		if violation.GetField() == "turn_id" && violation.GetRule() != eventv1.ProtocolViolation_RULE_ORDER {
			return true
		}
	}
	return false
}

// frameKind returns the HEP type of a frame of the catalogue, "" for any other event.
func frameKind(event *eventv1.Event) (kind string, turnID int64) {
	switch payload := event.GetPayload().(type) {
	case *eventv1.Event_HepHeader:
		return "hep_header", 0
	case *eventv1.Event_AgentStart:
		return "agent_start", payload.AgentStart.GetTurnId()
	case *eventv1.Event_MessageStart:
		return "message_start", payload.MessageStart.GetTurnId()
	case *eventv1.Event_MessageDelta:
		return "message_delta", payload.MessageDelta.GetTurnId()
	case *eventv1.Event_ToolStart:
		return "tool_start", payload.ToolStart.GetTurnId()
	case *eventv1.Event_ToolDelta:
		return "tool_delta", payload.ToolDelta.GetTurnId()
	case *eventv1.Event_ToolLiveness:
		return "tool_liveness", payload.ToolLiveness.GetTurnId()
	case *eventv1.Event_TurnDone:
		return "turn_done", payload.TurnDone.GetTurnId()
	case *eventv1.Event_TurnError:
		return "turn_error", payload.TurnError.GetTurnId()
	case *eventv1.Event_Cancelled:
		return "cancelled", payload.Cancelled.GetTurnId()
	case *eventv1.Event_CompactionStart:
		return "compaction_start", payload.CompactionStart.GetTurnId()
	case *eventv1.Event_CompactionEnd:
		return "compaction_end", payload.CompactionEnd.GetTurnId()
	}
	return "", 0
}
