package conf

import (
	"math"
	"time"

	"github.com/vigildb/vigil/server/offsite"
)

// backupRows are those of backups that leave the machine.
func backupRows() []directive {
	return []directive{
		{name: "backup-target", kind: text(backupPlace), def: "", flags: immutable | protected,
			doc: "Where backups go: `s3://bucket/prefix`, or a directory by its absolute path or as `file:///path`; empty for none (docs/backups.md).",
			set: func(s *Settings, v value) { s.Backup.Target = v.text }},
		{name: "backup-schedule", kind: backupTimes(), def: "daily",
			doc: "Time between backups: seconds, or such as `90m`, `6h`, `1d`, or `hourly`, `daily` or `weekly`; 0 for those that VIGIL.BACKUP NOW asks for only.",
			set: func(s *Settings, v value) { s.Backup.Every = time.Duration(v.n) }},
		{name: "backup-log-interval", kind: integer(0, 86400), def: "60",
			doc: "Seconds between uploads of what the log has gained: what the loss of the machine costs at most, and to where a restore can go on. 0 for none. A member of a group uploads none.",
			set: func(s *Settings, v value) { s.Backup.LogEvery = time.Duration(v.n) * time.Second }},
		{name: "backup-keep", kind: integer(0, math.MaxInt32), def: "7",
			doc: "Number of the newest backups to keep; 0 for all, unless `backup-keep-days` says which.",
			set: func(s *Settings, v value) { s.Backup.Keep = int(v.n) }},
		{name: "backup-keep-days", kind: integer(0, 36500), def: "0",
			doc: "Days for which backups are kept, beside those of `backup-keep`; 0 for no such reason.",
			set: func(s *Settings, v value) { s.Backup.KeepFor = time.Duration(v.n) * 24 * time.Hour }},
		{name: "backup-key-file", kind: text(), def: "", flags: immutable | protected,
			doc: "File with a key of 32 bytes, or 64 hexadecimal digits, with which backups are encrypted; empty for no encryption. Without it they cannot be restored.",
			set: func(s *Settings, v value) { s.Backup.KeyFile = v.text }},
		{name: "backup-s3-endpoint", kind: text(), def: "", flags: immutable | protected,
			doc: "URL of a store that speaks the protocol of S3; empty for AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL in the environment, or AWS itself.",
			set: func(s *Settings, v value) { s.Backup.S3Endpoint = v.text }},
		{name: "backup-s3-region", kind: text(), def: "", flags: immutable,
			doc: "Region of the bucket; empty for AWS_REGION or AWS_DEFAULT_REGION in the environment, or us-east-1.",
			set: func(s *Settings, v value) { s.Backup.S3Region = v.text }},
		{name: "backup-s3-access-key", kind: text(), def: "", flags: immutable,
			doc: "Name of the key for the bucket; empty for AWS_ACCESS_KEY_ID in the environment.",
			set: func(s *Settings, v value) { s.Backup.S3AccessKey = v.text }},
		{name: "backup-s3-secret-key", kind: text(), def: "", flags: immutable | sensitive,
			doc: "Secret of that key; empty for AWS_SECRET_ACCESS_KEY in the environment.",
			set: func(s *Settings, v value) { s.Backup.S3SecretKey = v.text }},
		{name: "backup-s3-path-style", kind: yesNo(), def: "yes", flags: immutable,
			doc: "The bucket is the first part of the path of a request (`yes`), or of the name of the host (`no`).",
			set: func(s *Settings, v value) { s.Backup.S3PathStyle = v.n == 1 }},
	}
}

// Backup is the settings of backups that leave the machine.
type Backup struct {
	Target          string // empty: none
	Every, LogEvery time.Duration
	Keep            int
	KeepFor         time.Duration
	KeyFile         string
	S3Endpoint      string
	S3Region        string
	S3AccessKey     string
	S3SecretKey     string
	S3PathStyle     bool
}

// backupTimes is how long there is between backups.
func backupTimes() kind {
	return single("time between backups", func(s string) (value, error) {
		every, err := offsite.ParseEvery(s)
		return value{text: s, n: int64(every)}, err
	}, plain)
}

// backupPlace refuses what no target is called.
func backupPlace(s string) error {
	if s == "" {
		return nil
	}
	return offsite.ValidTarget(s)
}
