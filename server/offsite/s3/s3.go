// Package s3 is a bucket of S3, or of a store that speaks its protocol, as a target of package offsite. It is apart so that
// only programs that want it have the client of AWS in them.
//
// Each object is put by one request with its MD5, which the store compares: there are no uploads in parts, and an object is there
// whole or not at all. What fails for a reason that may pass is tried three times.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/vigildb/vigil/server/offsite"
)

// Options say how a bucket is reached. What is empty comes from the environment, by the names that AWS's own tools use.
type Options struct {
	Endpoint  string // URL of the store; empty in both: that of AWS for the region
	Region    string // empty in both: us-east-1
	AccessKey string
	SecretKey string
	PathStyle bool                // the bucket is the first part of the path, and not of the name of the host
	Getenv    func(string) string // the environment
}

// credentials are those of the options, or else of the environment.
func (o *Options) credentials() (c aws.Credentials, err error) {
	c = aws.Credentials{AccessKeyID: o.AccessKey, SecretAccessKey: o.SecretKey}
	if c.AccessKeyID == "" && c.SecretAccessKey == "" {
		c = aws.Credentials{AccessKeyID: o.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: o.Getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: o.Getenv("AWS_SESSION_TOKEN")}
	}
	if c.AccessKeyID == "" || c.SecretAccessKey == "" {
		return c, errors.New("there are no credentials: give backup-s3-access-key and backup-s3-secret-key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment")
	}
	return c, nil
}

// IsBucket reports that a target is a bucket.
func IsBucket(target string) bool { return strings.HasPrefix(target, "s3://") }

// Open opens s3://bucket/prefix.
func Open(target string, o Options) (offsite.Target, error) {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "s3" || offsite.ValidTarget(target) != nil {
		return nil, fmt.Errorf("backup target %s: want s3://bucket or s3://bucket/prefix", offsite.Shown(target))
	}
	credentials, err := o.credentials()
	if err != nil {
		return nil, err
	}
	so := s3.Options{
		Region:                     cmp.Or(o.Region, o.Getenv("AWS_REGION"), o.Getenv("AWS_DEFAULT_REGION"), "us-east-1"),
		UsePathStyle:               o.PathStyle,
		Credentials:                aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials, nil }),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired, // other stores do not know those of AWS; there is the MD5
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}
	if endpoint := cmp.Or(o.Endpoint, o.Getenv("AWS_ENDPOINT_URL_S3"), o.Getenv("AWS_ENDPOINT_URL")); endpoint != "" {
		if e, err := url.Parse(endpoint); err != nil || e.Host == "" || e.Scheme != "http" && e.Scheme != "https" {
			return nil, fmt.Errorf("endpoint %s: want a URL such as https://s3.example.com", endpoint)
		}
		so.BaseEndpoint = &endpoint
	}
	prefix := strings.Trim(u.Path, "/")
	if prefix != "" {
		prefix += "/"
	}
	return &bucket{s3.New(so), u.Host, prefix}, nil
}

// bucket is a part of a bucket: names begin with the prefix there.
type bucket struct {
	client *s3.Client
	name   string
	prefix string
}

// Put implements offsite.Target.
func (b *bucket) Put(ctx context.Context, name string, content []byte) error {
	sum := md5.Sum(content)
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.name, Key: aws.String(b.prefix + name), Body: bytes.NewReader(content),
		ContentLength: aws.Int64(int64(len(content))), ContentMD5: aws.String(base64.StdEncoding.EncodeToString(sum[:]))})
	return plain(err)
}

// Get implements offsite.Target.
func (b *bucket) Get(ctx context.Context, name string) ([]byte, error) {
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: aws.String(b.prefix + name)})
	if err != nil {
		return nil, plain(err)
	}
	defer out.Body.Close()
	content, err := io.ReadAll(out.Body)
	if err == nil && out.ContentLength != nil && *out.ContentLength != int64(len(content)) {
		err = io.ErrUnexpectedEOF
	}
	return content, err
}

// List implements offsite.Target.
func (b *bucket) List(ctx context.Context, prefix string, f func(name string, size int64) error) error {
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: aws.String(b.prefix + prefix)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return plain(err)
		}
		for _, o := range page.Contents {
			if err := f(strings.TrimPrefix(aws.ToString(o.Key), b.prefix), aws.ToInt64(o.Size)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Delete implements offsite.Target.
func (b *bucket) Delete(ctx context.Context, name string) error {
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: aws.String(b.prefix + name)})
	if err = plain(err); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// plain is the answer of the store, if that is the reason of an error, without what the client puts around it.
func plain(err error) error {
	var api smithy.APIError
	var request *url.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &api) && errors.As(err, &request):
		return request.Err
	case !errors.As(err, &api):
		return err
	case api.ErrorCode() == "NoSuchKey":
		return fmt.Errorf("%s: %w", api.ErrorCode(), fs.ErrNotExist)
	case api.ErrorMessage() == "":
		return fmt.Errorf("the store answers %s", api.ErrorCode())
	}
	return fmt.Errorf("the store answers %s: %s", api.ErrorCode(), api.ErrorMessage())
}
