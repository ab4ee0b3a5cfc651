package hepworker

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
)

// Why a Cancel failed, for errors.Is.
var (
	// ErrNoGateway: no gateway listens at the NATS server, or none for this tenant.
	ErrNoGateway = errors.New("no gateway")

	ErrInvalidRequest   error = reason("INVALID_REQUEST")
	ErrRunNotFound      error = reason("RUN_NOT_FOUND")
	ErrOwnerUnreachable error = reason("OWNER_UNREACHABLE")
	ErrLogUnavailable   error = reason("LOG_UNAVAILABLE")
	ErrDraining         error = reason("DRAINING")
	ErrLimitReached     error = reason("LIMIT_REACHED")
	ErrInternal         error = reason("INTERNAL")
)

type reason string

func (r reason) Error() string { return string(r) }

// CancelError is the bridge's refusal of a Cancel. errors.Is finds the sentinels of this package in it.
type CancelError struct {
	// Reason is the bridge's stable code, e.g. "RUN_NOT_FOUND"; empty if it gave none.
	Reason string
	// Code is the number of the gRPC status, e.g. 5 for NOT_FOUND; 0 if it is none.
	Code int
	// Message is for people.
	Message string
}

// Error names the reason and what the bridge said.
func (e *CancelError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("status %d: %s", e.Code, e.Message)
	}
	return e.Reason + ": " + e.Message
}

// Is matches the sentinels of this package.
func (e *CancelError) Is(target error) bool {
	r, ok := target.(reason)
	return ok && string(r) == e.Reason
}

// refusal is the error that an answer's headers tell, as those of all NATS services do; nil if none.
func refusal(header nats.Header) error {
	code, text := header.Get("Nats-Service-Error-Code"), header.Get("Nats-Service-Error")
	if code == "" && text == "" {
		return nil
	}
	number, err := strconv.Atoi(code)
	if err != nil {
		number = 0
	}
	return &CancelError{Reason: header.Get("Hep-Error-Reason"), Code: number, Message: text}
}
