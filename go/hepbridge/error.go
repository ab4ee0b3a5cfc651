package hepbridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What went wrong, for errors.Is. The bridge names it; the text of the error says which thing and
// what to do.
var (
	ErrInvalidRequest   error = reason("INVALID_REQUEST")
	ErrRunNotFound      error = reason("RUN_NOT_FOUND")
	ErrRunExists        error = reason("RUN_EXISTS")
	ErrProfileNotFound  error = reason("PROFILE_NOT_FOUND")
	ErrProfileUnusable  error = reason("PROFILE_UNUSABLE")
	ErrAgentUnsupported error = reason("AGENT_UNSUPPORTED")
	ErrCursorInvalid    error = reason("CURSOR_INVALID")
	ErrCursorAhead      error = reason("CURSOR_AHEAD")
	ErrHistoryGone      error = reason("HISTORY_GONE")
	ErrStreamRecreated  error = reason("STREAM_RECREATED")
	ErrLogUnavailable   error = reason("LOG_UNAVAILABLE")
	ErrOwnerUnreachable error = reason("OWNER_UNREACHABLE")
	ErrDraining         error = reason("DRAINING")
	ErrLimitReached     error = reason("LIMIT_REACHED")
	ErrIngestGap        error = reason("INGEST_GAP")
	ErrIngestTakenOver  error = reason("INGEST_TAKEN_OVER")
	ErrFenced           error = reason("FENCED")
	ErrInternal         error = reason("INTERNAL")
	// ErrGap is a hole in the log, found by the bridge or by this client.
	ErrGap error = reason("LOG_HOLE")
	// ErrUnavailable is every error of status UNAVAILABLE: the three reasons above that pass, and a
	// bridge that cannot be reached.
	ErrUnavailable = errors.New("bridge unavailable")
)

// errorDomain is the domain of the bridge's ErrorInfo.
const errorDomain = "hep.bridge"

type reason string

func (r reason) Error() string { return string(r) }

// Error is an answer of the bridge, or the failure to get one. errors.Is finds the sentinels of
// this package in it; status.FromError gives the gRPC status.
type Error struct {
	// Operation that failed, e.g. "start run".
	Operation string
	// Reason is the bridge's stable code, e.g. "RUN_NOT_FOUND"; empty if the bridge did not answer.
	Reason string
	// Message is for people.
	Message string
	// Metadata holds facts for programs.
	Metadata map[string]string
	// Fields that were refused, path to description; for ErrInvalidRequest.
	Fields map[string]string
	// RetryAfter is when a retry makes sense; 0 if the bridge did not say.
	RetryAfter time.Duration
	// Code of the gRPC status.
	Code codes.Code

	cause error
}

// Error names the operation, the reason and what the bridge said.
func (e *Error) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("hepbridge: %s: %s: %s", e.Operation, e.Code, e.Message)
	}
	return fmt.Sprintf("hepbridge: %s: %s: %s", e.Operation, e.Reason, e.Message)
}

// Unwrap gives the gRPC error.
func (e *Error) Unwrap() error { return e.cause }

// Is matches the sentinels of this package.
func (e *Error) Is(target error) bool {
	if target == ErrUnavailable {
		return e.Code == codes.Unavailable
	}
	r, ok := target.(reason)
	return ok && string(r) == e.Reason
}

// newError makes an Error of what a call returned. If ctx is over, that is the reason.
func newError(ctx context.Context, operation string, err error) error {
	if over := ctx.Err(); over != nil {
		if cause := context.Cause(ctx); cause != over {
			over = fmt.Errorf("%w: %w", over, cause)
		}
		return fmt.Errorf("hepbridge: %s: %w", operation, over)
	}
	if known := (*Error)(nil); errors.As(err, &known) {
		return err
	}
	answer := status.Convert(err)
	e := &Error{Operation: operation, Message: answer.Message(), Code: answer.Code(), cause: err}
	for _, detail := range answer.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			if detail.Domain == errorDomain {
				e.Reason, e.Metadata = detail.Reason, detail.Metadata
			}
		case *errdetails.RetryInfo:
			e.RetryAfter = detail.RetryDelay.AsDuration()
		case *errdetails.BadRequest:
			e.Fields = make(map[string]string, len(detail.FieldViolations))
			for _, field := range detail.FieldViolations {
				e.Fields[field.Field] = field.Description
			}
		}
	}
	return e
}

// patience says whether a failed call may be tried again.
type patience int

const (
	// final: another try gets the same answer.
	final patience = iota
	// doubtful: often the transport, sometimes a fault of the bridge; worth a few tries.
	doubtful
	// passing: it will pass.
	passing
)

func patienceWith(err error) patience {
	var e *Error
	if !errors.As(err, &e) {
		return final
	}
	switch e.Code {
	case codes.Unavailable:
		return passing
	case codes.ResourceExhausted:
		if e.RetryAfter > 0 {
			return passing
		}
		return final
	case codes.Internal, codes.Unknown, codes.Canceled, codes.Aborted, codes.DeadlineExceeded:
		if e.Reason == "" || errors.Is(e, ErrInternal) {
			return doubtful
		}
		return final
	default:
		return final
	}
}
