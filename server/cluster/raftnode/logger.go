package raftnode

import (
	"fmt"

	"go.etcd.io/raft/v3"
)

// LogLevel is how important a line of the log is.
type LogLevel int

const (
	LogDebug LogLevel = iota
	LogInfo
	LogNotice
	LogWarn
	LogError
)

// logger writes what raft has to say. Its ordinary lines help only in the search for a
// fault.
type logger struct {
	logf func(level LogLevel, format string, args ...any)
}

var _ raft.Logger = logger{}

func (l logger) Debug(v ...any)                   { l.logf(LogDebug, "%s", fmt.Sprint(v...)) }
func (l logger) Debugf(format string, v ...any)   { l.logf(LogDebug, format, v...) }
func (l logger) Info(v ...any)                    { l.logf(LogDebug, "%s", fmt.Sprint(v...)) }
func (l logger) Infof(format string, v ...any)    { l.logf(LogDebug, format, v...) }
func (l logger) Warning(v ...any)                 { l.logf(LogInfo, "%s", fmt.Sprint(v...)) }
func (l logger) Warningf(format string, v ...any) { l.logf(LogInfo, format, v...) }
func (l logger) Error(v ...any)                   { l.logf(LogWarn, "%s", fmt.Sprint(v...)) }
func (l logger) Errorf(format string, v ...any)   { l.logf(LogWarn, format, v...) }
func (l logger) Fatal(v ...any)                   { panic(fmt.Sprint(v...)) }
func (l logger) Fatalf(format string, v ...any)   { panic(fmt.Sprintf(format, v...)) }
func (l logger) Panic(v ...any)                   { panic(fmt.Sprint(v...)) }
func (l logger) Panicf(format string, v ...any)   { panic(fmt.Sprintf(format, v...)) }
