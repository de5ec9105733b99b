import re,sys,pathlib,subprocess,json,os,tomllib
from concurrent.futures import ThreadPoolExecutor
ONLY=os.environ.get('ONLY','').split()
root=pathlib.Path('/tmp/w/catalog')
def q(s): return json.dumps(s, ensure_ascii=False)
def build(path):
    out=[]
    for blk in re.split(r'(?m)^=== ', path.read_text())[1:]:
        head,code=blk.split('\n---\n',1)
        hl=head.split('\n'); name=hl[0].strip()
        f=dict(l.split(': ',1) for l in hl[1:] if l.strip())
        bad,good,l1,l2=[],[],[],[]
        for line in code.rstrip('\n').split('\n'):
            m=re.search(r'\s*#@([12])\s*$',line); mk=None
            if m: mk=m.group(1); line=line[:m.start()]
            if line.startswith('-|'): tgt='b'; line=line[2:]
            elif line.startswith('+|'): tgt='g'; line=line[2:]
            else: tgt='bg'
            if 'b' in tgt:
                bad.append(line)
                if mk: (l1 if mk=='1' else l2).append(len(bad))
            else: assert not mk,(name,line)
            if 'g' in tgt: good.append(line)
        assert l1,(name)
        d=root/name; d.mkdir(exist_ok=True)
        (d/'program.py').write_text('\n'.join(bad)+'\n'); (d/'answer.py').write_text('\n'.join(good)+'\n')
        (d/'label.toml').write_text(f'''address = ""
date = ""
asked = {q(f["asked"])}
answer = {q(f["answer"])}
kind = "silent"
command = "rehearse program.py"
raises = ""
lines = {l1+l2}
cause = {q(f["cause"])}
verified = "by running"
''')
        tomllib.loads((d/'label.toml').read_text())
        n=len(bad)
        if not 40<=n<=110: print('LEN',name,n)
        out.append(d)
    return out
def run(a):
    d,fn=a; import time,tempfile; t=time.time()
    with tempfile.TemporaryDirectory() as w:
        r=subprocess.run(['/work/main/.venv/bin/python',str(d/fn)],cwd=w,capture_output=True,text=True,timeout=200,env={**os.environ,'OMP_NUM_THREADS':'1','PYTHONDONTWRITEBYTECODE':'1'})
    return d.name,fn,r.returncode,time.time()-t,r.stdout[-160:],r.stderr[-900:]
ds=[d for p in sys.argv[1:] for d in build(pathlib.Path(p))]
with ThreadPoolExecutor(3) as ex:
    for n,fn,rc,t,o,e in ex.map(run,[(d,fn) for d in ds if not ONLY or d.name[:2] in ONLY for fn in('program.py','answer.py')]):
        print(n,fn,'rc',rc,f'{t:.1f}s','|',o.replace('\n',' / ')[-110:])
        if rc or e: print('   ERR',e)
