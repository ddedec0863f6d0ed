#include "waiting.decl.h"

class Answer : public CMessage_Answer {
public:
    int count;
    int *values;
};

CProxy_Main mainProxy;

static Answer *make(int value) {
    Answer *m = new (2) Answer;
    m->count = 2;
    m->values[0] = m->values[1] = value;
    return m;
}

class Server : public CBase_Server {
    int worked = 0;

public:
    Server() {}
    explicit Server(CkMigrateMessage *) {}
    int square(int x) { return x * x + worked; }
    void nothing() { ++worked; }
    Answer *answer(Answer *question) {
        int value = question->values == nullptr ? 0 : question->values[1];
        delete question;
        return make(value + thisIndex);
    }
    void work(int depth) {
        if (depth > 0)
            thisProxy[(thisIndex + 1) % 4].work(depth - 1);
        else
            worked += 100;
    }
    void ready() { contribute(CkCallback(CkCallback::ignore)); }
};

// Its steps go on while some of its threads wait.
class Stepper : public CBase_Stepper {
    Stepper_SDAG_CODE
    int ended = 0;

    void ask(int which) {
        ck::future<int> answer;
        thisProxy[thisIndex].set(answer, which);
        CkAssert(answer.get() == which);
        thisProxy[thisIndex].done(which);
    }
    void count() {
        if (++ended == 2)
            contribute(CkCallback(CkReductionTarget(Main, stepped), mainProxy));
    }

public:
    Stepper() {}
    explicit Stepper(CkMigrateMessage *) {}
};

class Main : public CBase_Main {
    int awakened = 0;
    bool areStepped = false;

public:
    explicit Main(CkArgMsg *m) {
        delete m;
        mainProxy = thisProxy;
        thisProxy.run();
    }
    void other(CkFuture future, int n) {
        CkSendToFuture(future, make(n));
    }
    // Several threads wait for one message, and the first releases it.
    void wait(CkFuture future) {
        Answer *answer = (Answer *)CkWaitFuture(future);
        CkAssert(answer->values[1] == 8);
        delete answer;
        if (awakened++ == 0)
            CkReleaseFuture(future);
    }
    void set(ck::future<int> future) { future.set(7); }
    void stepped() { areStepped = true; }
    void run() {
        CProxy_Server servers = CProxy_Server::ckNew(4);
        CkAssert(servers[3].square(5) == 25);
        servers[3].nothing();
        CkAssert(servers[3].square(5) == 26);
        Answer *answer = servers[2].answer(make(40));
        CkAssert(answer->count == 2 && answer->values[1] == 42);
        delete answer;
        // Nobody waits for the answer to a callback.
        CkCallback(CkIndex_Server::answer(nullptr), servers[1]).send();
        servers[0].work(10);
        CkWaitQD();
        CkAssert(servers[2].square(1) == 101);
        CkFuture future = CkCreateFuture();
        thisProxy.other(future, 9);
        answer = (Answer *)CkWaitFuture(future);
        CkReleaseFuture(future);
        CkAssert(answer->values[0] == 9);
        delete answer;
        CkFuture shared = CkCreateFuture();
        for (int i = 0; i < 3; ++i)
            thisProxy.wait(shared);
        thisProxy.other(shared, 8);
        CkWaitQD();
        CkAssert(awakened == 3);
        ck::future<double> value;
        value.set(2.5);
        CkAssert(value.get() == 2.5);
        ck::future<int> given;
        const auto waits = ck::waits().size();
        thisProxy.set(given);
        CkAssert(given.get() == 7 && ck::waits().size() == waits);
        CProxy_Stepper steppers = CProxy_Stepper::ckNew(2);
        steppers.run();
        steppers.work(1);
        steppers.work(2);
        CkWaitQD();
        CkAssert(areStepped);
        servers.ready();
        CkCallback cb(CkCallback::resumeThread);
        CkStartQD(cb);
        delete cb.thread_delay();
        // A method that is left by an exception waits for nobody.
        try {
            CkCallbackResumeThread never;
            throw 1;
        } catch (int) {
        }
        CkPrintf("ok\n");
        CkExit();
    }
};

#include "waiting.def.h"
