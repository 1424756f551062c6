// Command decode decodes 50 tokens over one stream and prints their ids: what
// a worker's loop does.
//
// Usage: decode ADDRESS ROWS.safetensors
//
// ADDRESS is unix:PATH or HOST:PORT.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "example.com/decode/tokendraw/v1"
)

const (
	steps    = 50
	deadline = 60 * time.Second
	pause    = 50 * time.Millisecond
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: decode ADDRESS ROWS.safetensors")
	}
	tokens, err := decode(os.Args[1], os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Trim(fmt.Sprint(tokens), "[]"))
}

func decode(address, path string) ([]int32, error) {
	rows, err := readRows(path)
	if err != nil {
		return nil, err
	}
	connection, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	client := pb.NewSamplingServiceClient(connection)

	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	info, err := serverInfo(ctx, client)
	if err != nil {
		return nil, err
	}
	// gRPC takes no more than 4 MiB by itself.
	limit := grpc.MaxCallRecvMsgSize(int(info.MaxMessageBytes))
	stream, err := client.StreamSampleTokens(ctx, limit)
	if err != nil {
		return nil, err
	}
	var output []int32
	for len(output) < steps {
		reply, err := step(stream, request(rows, output))
		if err != nil {
			return nil, err
		}
		if len(reply.RowErrors) > 0 {
			return nil, errors.New(reply.RowErrors[0].Message)
		}
		output = append(output, reply.TokenIds...)
	}
	return output, stream.CloseSend()
}

// serverInfo asks the server what it says of itself. Every call may be repeated
// after UNAVAILABLE: a token is a function of its request.
func serverInfo(ctx context.Context, client pb.SamplingServiceClient) (*pb.GetServerInfoResponse, error) {
	for {
		info, err := client.GetServerInfo(ctx, &pb.GetServerInfoRequest{})
		if status.Code(err) != codes.Unavailable {
			return info, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// step sends one message and waits for its reply. A full server says when it
// will have room; any other refusal is an error of this message alone.
func step(stream pb.SamplingService_StreamSampleTokensClient, request *pb.SampleTokensRequest) (*pb.SampleTokensResponse, error) {
	for {
		// When the stream has ended, the status that tells why is where replies
		// are read.
		_ = stream.Send(request)
		reply, err := stream.Recv()
		if err != nil || reply.Error == nil {
			return reply, err
		}
		refusal := reply.Error
		if refusal.RetryAfterMs == 0 {
			return nil, status.Error(codes.Code(refusal.Code), refusal.Message)
		}
		time.Sleep(time.Duration(refusal.RetryAfterMs) * time.Millisecond)
	}
}

func request(rows *logitsRows, output []int32) *pb.SampleTokensRequest {
	step := len(output)
	return &pb.SampleTokensRequest{
		Step: int64(step),
		Params: []*pb.SamplingParams{{
			Temperature:       proto.Float64(0.8),
			TypicalP:          proto.Float64(0.9),
			XtcProbability:    proto.Float64(0.5),
			XtcThreshold:      proto.Float64(0.1),
			RepetitionPenalty: proto.Float32(1.1),
		}},
		Rows: []*pb.RowSpec{{
			Seed:      proto.Uint64(42),
			Position:  int64(step),
			OutputIds: output,
		}},
		TimeoutMs: 10_000, // later than this nobody wants the token
		Logits: &pb.LogitsTensor{
			VocabSize: rows.vocabSize,
			RowCount:  1,
			DataType:  pb.DataType_DATA_TYPE_F32,
			Payload: &pb.LogitsTensor_Inline{
				Inline: rows.rows[step%len(rows.rows)],
			},
		},
	}
}
